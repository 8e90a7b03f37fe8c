// How a drum in the shape of an L sounds: the eigenvectors of the Laplace operator on it.
#include "lessons/lesson.h"

int main() {
  const int n = 24;  // points along a side
  Array row = ts::arange(n)(ts::all, ts::newaxis), column = ts::arange(n);
  Array inside = ts::logical_or(row >= n / 2, column < n / 2).reshape(-1);  // all but a quarter

  // The operator on the square: 4 on the diagonal, -1 for each neighbour.
  Array line = 2 * ts::eye(n) - ts::eye(n, n, 1) - ts::eye(n, n, -1);
  Array square = ts::kron(line, ts::eye(n)) + ts::kron(ts::eye(n), line);
  // A point outside is fixed: it has no neighbours, and a value far above those that we look for.
  Array both = ts::logical_and(inside(ts::all, ts::newaxis), inside);
  Array drum = ts::where(both, square, 0) + 100 * ts::diag((!inside).astype(ts::f32));

  auto [values, vectors] = ts::linalg::eigh(drum);
  std::vector<Array> upper, lower;
  for (int k = 0; k < 6; ++k) {
    Array shape = vectors(ts::all, k).reshape(n, n);
    Array turned = shape * ts::sign(shape(n - 2, 2));  // an eigenvector has no sign of its own
    (k < 3 ? upper : lower).push_back(ts::pad(turned, {{1, 1}, {1, 1}}));
  }
  save_heatmap("drum.svg", ts::concatenate({ts::concatenate(upper, 1), ts::concatenate(lower, 1)}),
               "the six lowest tones");
  Array tones = ts::sqrt(values[ts::range(0, 6)] / values[0]);
  std::cout << "tones, the lowest one being 1: " << ts::around(tones, 3) << "\n";
}
