#include "spmd/blocks.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

Blocks::Blocks(const Type& whole, const MeshShape& mesh, const Spec& spec)
    : whole_(whole), block_(whole.shape) {
  const Spec::Dims& dims = spec.dims();
  const auto& mesh_sizes = mesh.sizes;
  const std::size_t rank = whole.shape.size();
  grid_.resize(rank, 1);
  std::int64_t positions = 1;
  for (std::int64_t s : mesh_sizes) positions *= s;

  std::vector<std::vector<std::size_t>> cut(rank);
  for (std::size_t d = 0; d < dims.size(); ++d)
    for (const std::string& name : dims[d]) {
      const int found = mesh.find(name);
      if (d >= rank || found < 0)
        throw InternalError(to_string(spec) + " does not fit " + to_string(whole));
      const auto axis = static_cast<std::size_t>(found);
      cut[d].push_back(axis);
      grid_[d] *= mesh_sizes[axis];
    }
  bool inside = false;
  for (std::size_t d = 0; d < rank; ++d) {
    if (block_[d] % grid_[d] != 0)
      throw InternalError(to_string(spec) + " does not divide " + to_string(whole));
    block_[d] /= grid_[d];
    count_ *= grid_[d];
    if (inside && grid_[d] > 1) contiguous_ = false;
    if (whole.shape[d] > grid_[d] || (grid_[d] == 1 && whole.shape[d] > 1)) inside = true;
  }
  axis_offsets_.resize(mesh_sizes.size(), 0);
  const Shape strides = byte_strides(whole.shape, size_of(whole.dtype));
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t step = block_[d] * strides[d];
    for (std::size_t k = cut[d].size(); k-- > 0;) {
      axis_offsets_[cut[d][k]] = step;
      step *= mesh_sizes[cut[d][k]];
    }
  }
  bytes_ = block_.count() * size_of(whole.dtype);

  of_.resize(static_cast<std::size_t>(positions));
  std::vector<std::int64_t> at(mesh_sizes.size());
  for (std::int64_t p = 0; p < positions; ++p) {
    std::int64_t rest = p;
    for (std::size_t a = mesh_sizes.size(); a-- > 0;) {
      at[a] = rest % mesh_sizes[a];
      rest /= mesh_sizes[a];
    }
    std::int64_t number = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t i = 0;
      for (std::size_t a : cut[d]) i = i * mesh_sizes[a] + at[a];
      number = number * grid_[d] + i;
    }
    of_[static_cast<std::size_t>(p)] = number;
  }
}

std::int64_t Blocks::offset_of(std::int64_t b) const {
  Shape strides = byte_strides(whole_.shape, size_of(whole_.dtype));
  std::int64_t offset = 0;
  for (int d = block_.rank() - 1; d >= 0; --d) {
    offset += b % grid_[d] * block_[d] * strides[d];
    b /= grid_[d];
  }
  return offset;
}

BoxCopy Blocks::gather() const {
  int e = size_of(whole_.dtype);
  return BoxCopy(block_, byte_strides(block_, e), byte_strides(whole_.shape, e), e);
}
BoxCopy Blocks::scatter() const {
  int e = size_of(whole_.dtype);
  return BoxCopy(block_, byte_strides(whole_.shape, e), byte_strides(block_, e), e);
}

}  // namespace tessera::inline v0::spmd
