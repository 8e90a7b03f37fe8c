// A typed view of the attributes of a region over a mesh (shard_map). Rooms that need the parsed
// form use spmd/region/shard_map.h.
#pragma once

#include "ir/attrs.h"

#include <utility>

namespace tessera::inline v0 {

/// A view, which must not outlive the attributes. Reading throws InternalError if an attribute is
/// absent or of another kind.
struct RegionAttrs {
  static constexpr const char *kBody = "body", *kMesh = "mesh", *kManual = "manual",
                              *kInSpecs = "in_specs", *kOutSpecs = "out_specs", *kTyped = "typed";

  explicit RegionAttrs(const Attrs& attrs)
      : body(attrs.program(kBody)),
        mesh(attrs.get<MeshRef>(kMesh)),
        manual(attrs.has(kManual) ? &attrs.get<Strings>(kManual) : nullptr),
        in_specs(attrs.get<Specs>(kInSpecs)),
        out_specs(attrs.get<Specs>(kOutSpecs)),
        typed(attrs.flag(kTyped)) {}
  explicit RegionAttrs(Attrs&& attrs) = delete;
  /// The attributes of a region for all axes of the mesh.
  static Attrs make(ProgramPtr body, MeshRef mesh, Specs in_specs, Specs out_specs, bool typed) {
    return {{kBody, std::move(body)},
            {kMesh, std::move(mesh)},
            {kInSpecs, std::move(in_specs)},
            {kOutSpecs, std::move(out_specs)},
            {kTyped, typed}};
  }

  const ProgramPtr& body;
  const MeshRef& mesh;
  const Strings* manual;  // manual axes of the mesh; null: all of them
  const Specs &in_specs, &out_specs;
  bool typed;
};

}  // namespace tessera::inline v0
