#include "spmd/place/blocks.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

Blocks::Blocks(const Type& whole, const MeshShape& mesh, const Spec& spec)
    : whole_(whole), block_(whole.shape) {
  const Spec::Dims& dims = spec.dims();
  const auto& mesh_sizes = mesh.sizes;
  const std::size_t rank = whole.shape.size();
  grid_.resize(rank, 1);

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

  std::vector<std::int64_t> numbers(mesh_sizes.size(), 0);
  std::int64_t next = 1;
  for (std::size_t d = rank; d-- > 0;)
    for (std::size_t k = cut[d].size(); k-- > 0; next *= mesh_sizes[cut[d][k]])
      numbers[cut[d][k]] = next;
  for (std::size_t a = mesh_sizes.size(); a-- > 0; positions_ *= mesh_sizes[a]) {
    if (numbers[a] == 0 || mesh_sizes[a] == 1) continue;
    // Merges neighbouring axes whose block numbers advance like those of one axis.
    if (!axes_.empty() && axes_.back().stride * axes_.back().size == positions_ &&
        axes_.back().numbers * axes_.back().size == numbers[a])
      axes_.back().size *= mesh_sizes[a];
    else
      axes_.push_back({positions_, mesh_sizes[a], numbers[a]});
  }
}

std::int64_t Blocks::block_of(std::int64_t position) const {
  std::int64_t number = 0;
  for (const Axis& a : axes_) number += position / a.stride % a.size * a.numbers;
  return number;
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

namespace {

// A row of devices in a mesh: `size` devices, `stride` positions apart.
struct Row {
  std::int64_t size, stride;
  bool operator==(const Row&) const = default;
};
Row row_of(const MeshShape& mesh, std::size_t axis) {
  Row row{mesh.sizes[axis], 1};
  for (std::size_t a = axis + 1; a < mesh.sizes.size(); ++a) row.stride *= mesh.sizes[a];
  return row;
}

// The devices along the axes, in order, as the fewest rows.
std::vector<Row> rows_of(const MeshShape& mesh, const Spec::Axes& axes) {
  std::vector<Row> rows;
  for (const std::string& name : axes) {
    const Row next = row_of(mesh, static_cast<std::size_t>(mesh.find(name)));
    if (next.size == 1) continue;
    if (!rows.empty() && rows.back().stride == next.size * next.stride)
      rows.back() = {rows.back().size * next.size, next.stride};
    else
      rows.push_back(next);
  }
  return rows;
}

}  // namespace

bool same_cut(const DeviceMesh& mesh, const Spec& spec, const DeviceMesh& other,
              const Spec& other_spec) {
  if (mesh.devices != other.devices) return false;
  if (spec == other_spec && static_cast<const MeshShape&>(mesh) == other) return true;
  const std::size_t rank = std::max(spec.dims().size(), other_spec.dims().size());
  for (std::size_t d = 0; d < rank; ++d)
    if (rows_of(mesh, spec.axes_of(static_cast<int>(d))) !=
        rows_of(other, other_spec.axes_of(static_cast<int>(d))))
      return false;
  return true;
}

Spec without_lone_axes(const MeshShape& mesh, const Spec& spec) {
  Spec::Dims dims = spec.dims();
  for (Spec::Axes& axes : dims)
    std::erase_if(axes, [&](const std::string& axis) { return mesh.size_of(axis) == 1; });
  return Spec(std::move(dims));
}

std::optional<Spec> same_cut_over(const DeviceMesh& other, const DeviceMesh& mesh,
                                  const Spec& spec) {
  if (other.devices != mesh.devices) return std::nullopt;
  Spec::Dims dims;
  for (const Spec::Axes& axes : spec.dims()) {
    Spec::Axes& there = dims.emplace_back();
    for (const Row& row : rows_of(mesh, axes)) {
      // Walks the axes of `other` from major to minor, starting with the one that ends where the
      // row does.
      std::int64_t left = row.size * row.stride;
      for (std::size_t a = 0; a < other.axes.size() && left > row.stride; ++a) {
        const Row axis = row_of(other, a);
        if (axis.size == 1 || axis.size * axis.stride != left) continue;
        there.push_back(other.axes[a]);
        left = axis.stride;
      }
      if (left != row.stride) return std::nullopt;
    }
  }
  return Spec(std::move(dims));
}

}  // namespace tessera::inline v0::spmd
