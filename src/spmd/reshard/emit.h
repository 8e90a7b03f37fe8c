// Emits resharding plans as equations of a per-device program.
#pragma once

#include "ir/builder.h"
#include "spmd/reshard/reshard.h"

namespace tessera::inline v0::spmd {

/// Reshards `local`, a device's part of a value placed as `plan.from`, to `plan.to()` with
/// collectives over the axes of mesh.atom_mesh(). The collectives are emitted in typed form: if
/// `local` is typed as varying over no more than the atoms of its placement, so is the result, and
/// its transpose is correct. Throws InternalError for exchanges, whose parts have no common shape,
/// and for combiners other than sums and extrema.
Value emit_reshard(Builder& b, const AtomMesh& mesh, const Reshard& plan, Value local);

}  // namespace tessera::inline v0::spmd
