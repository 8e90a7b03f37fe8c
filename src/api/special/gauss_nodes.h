// Gauss-Legendre quadrature.
#pragma once

#include <vector>

namespace tessera::inline v0::detail {

struct Node {
  double at, weight;
};
/// The positive nodes of the 2n-point rule on [-1, 1]; the other nodes are their negatives, with
/// the same weights.
std::vector<Node> gauss_nodes(int n);

}  // namespace tessera::inline v0::detail
