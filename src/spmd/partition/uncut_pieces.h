// Slices that axes do not divide, taken into what is put together of them again.
#pragma once

#include "ir/program.h"
#include "spmd/place/placement.h"

namespace tessera::inline v0::spmd {

/// The same program where it has none; else one of the same types in which rolls and the like, which
/// concatenate or pad slices, have no values of other extents between what they take and give: each
/// slice is moved whole to where its part is to lie, and what is to be seen of it is chosen. Programs
/// inside are looked into, those of regions with the axes that are left there; calls with rules of
/// their own are written out where that changes them.
ProgramPtr without_uncut_pieces(const ProgramPtr& program, const AtomMesh& mesh);

}  // namespace tessera::inline v0::spmd
