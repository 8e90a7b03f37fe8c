// Passes that make a program smaller or faster without changing a bit of its results.
#pragma once

#include "transform/pass.h"

#include <span>

namespace tessera::inline v0 {

/// Removes operations that cancel: x*1, x/1, x-0, -(-x), a transpose or reverse after its inverse,
/// reshapes of reshapes, and conversions to a wider type and back. x+0 stays for floating x,
/// because it turns -0 into 0.
ProgramPtr cancel(const ProgramPtr& p);
/// Folds ops on constant scalars if every implementation of the op gives the same bits.
ProgramPtr fold(const ProgramPtr& p);
/// Merges common subexpressions. Barriers are never merged.
ProgramPtr merge_common(const ProgramPtr& p);

/// Replaces one equation by several if its op knows a faster form (`Op::decompose`): argmax as two
/// reductions, or a small product whose matrix is transposed to match its loops.
ProgramPtr decompose(const ProgramPtr& p);
/// Selects between the results of small branches in the bodies of loops instead of running one.
ProgramPtr select_branches(const ProgramPtr& p);
/// Turns a concatenation of slices of one array into one slice or one gather.
ProgramPtr join_slices(const ProgramPtr& p);
/// Shortens a sort to the few elements at one end that are read.
ProgramPtr shorten_ends(const ProgramPtr& p);
/// Hoists out of scan bodies the loop-invariant equations that are costly or transpositions.
ProgramPtr hoist(const ProgramPtr& p);

/// These passes and dead_code in the order in which `simplify` runs them: "cancel", "fold",
/// "join_slices", "ends", "decompose", "small_branches", "hoist", "cse", "dead_code".
std::span<const Pass> simplify_passes();
ProgramPtr simplify(const ProgramPtr& p);

}  // namespace tessera::inline v0
