// Optimiser state that is stored in lists, matched to the parameters by order alone.
#pragma once

#include "explain/question.h"

#include <cstddef>
#include <vector>

namespace tessera::inline v0::autosharding {

/// For each argument, the index of the argument that it is sharded like; for most, the argument
/// itself. The arrays of a list ("state/0/1/7") are matched to the leaves of a tree nearer the root
/// ("params") if both have the same number of leaves with the same shapes in the same order.
std::vector<std::size_t> kept_beside(const explain::Question& question, std::size_t arguments);

}  // namespace tessera::inline v0::autosharding
