// Rewrites slices that axes do not divide into operations on whole arrays.
#pragma once

#include "ir/program.h"
#include "spmd/place/placement.h"

namespace tessera::inline v0::spmd {

/// Rewrites slice-then-concatenate (and pad) patterns such as `roll`, whose slices have extents no
/// mesh axis divides, into whole-array moves and selects, so that all intermediates can be
/// partitioned evenly. Returns the same program if there is nothing to rewrite. Nested programs are
/// rewritten too, those of regions for the axes that are not manual there. Calls with rules of
/// their own are inlined if rewriting changes their bodies.
ProgramPtr without_uncut_pieces(const ProgramPtr& program, const AtomMesh& mesh);

}  // namespace tessera::inline v0::spmd
