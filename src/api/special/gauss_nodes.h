// Gauss's rule of integration.
#pragma once

#include <vector>

namespace tessera::inline v0::detail {

struct Node {
  double at, weight;
};
/// The positive nodes of the rule of 2n points on [-1, 1]; the others are their negatives, of the
/// same weights.
std::vector<Node> gauss_nodes(int n);

}  // namespace tessera::inline v0::detail
