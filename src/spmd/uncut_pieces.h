// Slices that axes do not divide, taken into what is put together of them again.
#pragma once

#include "ir/program.h"
#include "spmd/placement.h"

namespace tessera::inline v0::spmd {

/// The same program where it has none; else one of the same types in which rolls and the like, which
/// concatenate or pad slices, have no values of other extents between what they take and give: each
/// slice is moved whole to where its part is to lie, and what is to be seen of it is chosen. Calls
/// that are not to be changed keep their programs.
ProgramPtr without_uncut_pieces(const ProgramPtr& program, const AtomMesh& mesh);

}  // namespace tessera::inline v0::spmd
