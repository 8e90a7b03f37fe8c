// Named axes over devices, and the blocks that a spec cuts along them.
#pragma once

#include "base/interned.h"
#include "ir/spec.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0 {

/// The axes of a mesh with their sizes; devices are numbered row-major.
struct MeshShape {
  std::vector<std::string> axes;
  std::vector<std::int64_t> sizes;

  std::int64_t size() const;
  /// -1 when there is none.
  int find(std::string_view axis) const;
  std::int64_t size_of(std::string_view axis) const;  // InternalError when there is none
  std::int64_t size_of(const std::vector<std::string>& names) const;
  /// Position of `device` along `names`, first major.
  std::int64_t index_along(std::int64_t device, const std::vector<std::string>& names) const;
  std::vector<std::string> ordered(const AxisSet& set) const;
  bool operator==(const MeshShape&) const = default;
};

/// A mesh and the ids of its devices in row-major order; none: the first ones. Without axes it is
/// one device.
struct DeviceMesh : MeshShape {
  std::vector<int> devices;
  bool operator==(const DeviceMesh&) const = default;
};
std::size_t hash_of(const DeviceMesh& mesh);
using MeshRef = Interned<DeviceMesh>;

/// Shape of one block, and of the whole from a block. The spec fits: its axes are of the mesh and
/// divide.
Shape block_shape(const Shape& whole, const Spec& spec, const MeshShape& mesh);
Shape whole_shape(const Shape& block, const Spec& spec, const MeshShape& mesh);
/// Where `device`'s block starts in the whole.
Shape block_start(const Shape& block, const Spec& spec, const MeshShape& mesh, std::int64_t device);

}  // namespace tessera::inline v0
