// Plans for resharding as equations of a per-device program.
#pragma once

#include "ir/builder.h"
#include "spmd/reshard/reshard.h"

namespace tessera::inline v0::spmd {

/// `local`, a device's part of a value as `plan.from` places it, brought to `plan.to()`:
/// collectives over the axes of mesh.atom_mesh(). In typed forms: where `local` is typed as varying
/// over no more than the atoms that its placement uses, so is the result, and its transpose is
/// right. InternalError for exchanges, whose parts have no common shape, and for combiners other
/// than sums and extrema.
Value emit_reshard(Builder& b, const AtomMesh& mesh, const Reshard& plan, Value local);

}  // namespace tessera::inline v0::spmd
