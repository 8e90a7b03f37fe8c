// Passes that make a program smaller and never change a bit of what it computes.
#pragma once

#include "transform/pass.h"

#include <span>

namespace tessera::inline v0 {

/// Undoes what cancels: x*1, x/1, x-0, -(-x), a transpose or reverse after its inverse, reshapes of
/// reshapes, conversions there and back through a wider type. x+0 stays for floating x: it turns -0
/// into 0.
ProgramPtr cancel(const ProgramPtr& p);
/// Computes scalars from constant scalars, where every implementation of the op gives the same
/// bits.
ProgramPtr fold(const ProgramPtr& p);
/// Computes equal things once. Barriers are never equal.
ProgramPtr merge_common(const ProgramPtr& p);

/// Several equations for one, where its op knows quicker ones (`Op::decompose`): the place of an
/// extremum as two reductions; the matrix of a small product turned to how its loops read it.
ProgramPtr decompose(const ProgramPtr& p);
/// Slices of one array that a concatenation puts together become one slice, or one gather.
ProgramPtr join_slices(const ProgramPtr& p);
/// Of a sort of which only a few elements at one end are read, only these.
ProgramPtr shorten_ends(const ProgramPtr& p);
/// Moves out of the bodies of scans what is costly, or a transposition, and the same in every turn.
ProgramPtr hoist(const ProgramPtr& p);

/// These, and dead_code, in the order in which `simplify` runs them: "cancel", "fold",
/// "join_slices", "ends", "decompose", "hoist", "cse", "dead_code".
std::span<const Pass> simplify_passes();
ProgramPtr simplify(const ProgramPtr& p);

}  // namespace tessera::inline v0
