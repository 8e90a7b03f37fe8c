#include "ir/mesh.h"

#include "base/hash.h"

namespace tessera::inline v0 {

std::size_t hash_of(const DeviceMesh& mesh) {
  std::size_t h = 0;
  mix(h, mesh.axes);
  mix(h, mesh.sizes);
  mix(h, mesh.devices);
  mix(h, mesh.platform);
  return h;
}

std::int64_t MeshShape::size() const {
  std::int64_t n = 1;
  for (auto s : sizes) n *= s;
  return n;
}

int MeshShape::find(std::string_view axis) const {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] == axis) return static_cast<int>(i);
  return -1;
}

std::int64_t MeshShape::size_of(std::string_view axis) const {
  int i = find(axis);
  if (i < 0) throw InternalError("the mesh has no axis '" + std::string(axis) + "'");
  return sizes[static_cast<std::size_t>(i)];
}

std::int64_t MeshShape::size_of(const std::vector<std::string>& names) const {
  std::int64_t n = 1;
  for (const auto& a : names) n *= size_of(a);
  return n;
}

std::int64_t MeshShape::index_along(std::int64_t device,
                                    const std::vector<std::string>& names) const {
  std::int64_t index = 0;
  for (const auto& a : names) {
    std::int64_t inner = 1;
    for (std::size_t i = static_cast<std::size_t>(find(a)) + 1; i < sizes.size(); ++i)
      inner *= sizes[i];
    index = index * size_of(a) + device / inner % size_of(a);
  }
  return index;
}

std::vector<std::string> MeshShape::ordered(const AxisSet& set) const {
  std::vector<std::string> names;
  for (const auto& a : axes)
    if (set.contains(a)) names.push_back(a);
  return names;
}

Shape block_shape(const Shape& whole, const Spec& spec, const MeshShape& mesh) {
  Shape s = whole;
  for (int d = 0; d < s.rank(); ++d) s[d] /= mesh.size_of(spec.axes_of(d));
  return s;
}

Shape whole_shape(const Shape& block, const Spec& spec, const MeshShape& mesh) {
  Shape s = block;
  for (int d = 0; d < s.rank(); ++d) s[d] *= mesh.size_of(spec.axes_of(d));
  return s;
}

Shape block_start(const Shape& block, const Spec& spec, const MeshShape& mesh,
                  std::int64_t device) {
  Shape s = block;
  for (int d = 0; d < s.rank(); ++d) s[d] = block[d] * mesh.index_along(device, spec.axes_of(d));
  return s;
}

}  // namespace tessera::inline v0
