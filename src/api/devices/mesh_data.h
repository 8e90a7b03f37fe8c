// The state behind a Mesh and a Sharding: interned, with their platform.
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
  /// The data of a mesh that is not empty.
  static const MeshData& of(const Mesh& mesh) { return *mesh.data_; }
  /// Returns the interned mesh; `axes` and `devices` are derived from `ref`.
  static Mesh make(MeshRef ref, runtime::Backend* backend, bool abstract);
};
std::size_t hash_of(const MeshData& data);

/// The mesh for a function: `given` or, if that is empty, the scope's. Throws ShardingError, naming
/// `function`, if there is none or it has no axes.
Mesh need_scope_mesh(const char* function, const Mesh& given, const SourceLoc& loc);
/// The platform of the mesh for a function: of `given` or, if that is empty, of the scope's mesh;
/// the default platform if there is none.
const runtime::Backend& platform_of(const Mesh& given);
/// A spec in the form that programs and layouts use, where unconstrained dimensions are
/// unpartitioned.
Spec spec_of(const PartitionSpec& spec);
PartitionSpec spec_of(const Spec& spec);

/// The committed layout of an array with this sharding, whose mesh has devices.
runtime::Layout layout_of(const Sharding& sharding);
Sharding sharding_of(const runtime::Layout& layout);

/// Explains why a value of this shape cannot have a sharding: the problem, the rule with its
/// arithmetic, and a remedy. All are empty if it can.
struct Misfit {
  std::string problem, rule, advice;
  explicit operator bool() const { return !problem.empty(); }
};
Misfit misfit(const Shape& shape, const Sharding& sharding, bool evenly = true);

}  // namespace tessera::inline v0::detail
