// What a Mesh and a Sharding are inside: interned, with their platform.
#pragma once

#include "base/message.h"
#include "ir/mesh.h"
#include "runtime/array_data.h"

#include <tessera/sharding.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

struct MeshData {
  std::vector<Mesh::Axis> axes;
  std::vector<Device> devices;
  MeshRef ref;
  runtime::Backend* backend = nullptr;
  bool abstract = false;

  bool operator==(const MeshData& o) const {
    return ref == o.ref && backend == o.backend && abstract == o.abstract;
  }
  /// Of a mesh that is not empty.
  static const MeshData& of(const Mesh& mesh) { return *mesh.data_; }
  /// Interned. `axes` and `devices` follow from the rest.
  static Mesh make(MeshRef ref, runtime::Backend* backend, bool abstract);
};
std::size_t hash_of(const MeshData& data);

/// The mesh that a function without one of its own is for: the scope's. ShardingError in the name
/// of `function` where there is none, or none with axes.
Mesh need_scope_mesh(const char* function, const Mesh& given, const SourceLoc& loc);
/// A spec as programs and layouts have it; unconstrained dimensions are as uncut ones.
Spec spec_of(const PartitionSpec& spec);
PartitionSpec spec_of(const Spec& spec);

/// Where an array lies that is laid out so, committed. The sharding is of devices.
runtime::Layout layout_of(const Sharding& sharding);
Sharding sharding_of(const runtime::Layout& layout);

/// Why a value of this shape cannot be laid out so: what is wrong, the rule with its arithmetic,
/// and what would work. All empty where it can.
struct Misfit {
  std::string problem, rule, advice;
  explicit operator bool() const { return !problem.empty(); }
};
Misfit misfit(const Shape& shape, const Sharding& sharding, bool evenly = true);

}  // namespace tessera::inline v0::detail
