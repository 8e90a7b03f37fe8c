// Named axes over devices, and the shards into which a spec divides an array along them.
#pragma once

#include "base/interned.h"
#include "ir/spec.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0 {

/// The axes of a mesh and their sizes; devices are numbered row-major.
struct MeshShape {
  std::vector<std::string> axes;
  std::vector<std::int64_t> sizes;

  std::int64_t size() const;
  /// Returns -1 if there is no such axis.
  int find(std::string_view axis) const;
  std::int64_t size_of(std::string_view axis) const;  // InternalError if there is none
  std::int64_t size_of(const std::vector<std::string>& names) const;
  /// The position of `device` along `names`; the first name is major.
  std::int64_t index_along(std::int64_t device, const std::vector<std::string>& names) const;
  std::vector<std::string> ordered(const AxisSet& set) const;
  bool operator==(const MeshShape&) const = default;
};

/// A mesh and the ids of its devices in row-major order; an empty list stands for the first
/// devices of the platform on which the program runs. A mesh without axes has one device.
struct DeviceMesh : MeshShape {
  std::vector<int> devices;
  std::string platform = {};  // of the listed devices; empty for the CPU
  bool operator==(const DeviceMesh&) const = default;
};
std::size_t hash_of(const DeviceMesh& mesh);
using MeshRef = Interned<DeviceMesh>;

/// The shape of one shard, and the shape of the whole array computed from a shard's. The spec must
/// fit: its axes belong to the mesh and divide the dimensions.
Shape block_shape(const Shape& whole, const Spec& spec, const MeshShape& mesh);
Shape whole_shape(const Shape& block, const Spec& spec, const MeshShape& mesh);
/// The index in the whole array at which `device`'s shard starts.
Shape block_start(const Shape& block, const Spec& spec, const MeshShape& mesh, std::int64_t device);

}  // namespace tessera::inline v0
