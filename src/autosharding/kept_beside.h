// What an optimiser keeps for each parameter, in lists that have the parameters' order alone.
#pragma once

#include "explain/question.h"

#include <cstddef>
#include <vector>

namespace tessera::inline v0::autosharding {

/// By argument the one that it goes with; itself, for most. Arrays of a list ("state/0/1/7") go
/// with the leaves of a tree further up ("params") where there are as many in all, and of the same
/// shapes in the same order.
std::vector<std::size_t> kept_beside(const explain::Question& question, std::size_t arguments);

}  // namespace tessera::inline v0::autosharding
