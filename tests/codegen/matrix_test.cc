// Products of matrices by generated kernels, against the order of additions that they promise
// (codegen/matrix/product.h), bit by bit. The model is the same for every instruction set with fused
// multiply-adds, for every division into blocks and for every layout, so all of them agree.
#include "codegen/matrix_cases.h"

namespace tessera::testing {
namespace {

using namespace products;

TEST(MatrixProduct, AddsInTheOrderThatItPromises) {
  std::mt19937 random(11);
  const std::int64_t rows = matrix::most_rows(), columns = 2 * matrix::lanes_of(DType::float32);
  auto one_of = [&](std::vector<std::int64_t> values) { return values[random() % values.size()]; };
  for (int trial = 0; trial < 200; ++trial) {
    Shapes s{};
    // Sizes around the edges of tiles and vectors, and of chunks of k.
    s.m = one_of({1, 2, 3, 4, 5, rows - 1, rows, rows + 1, 2 * rows + 1, 3 * rows, 40});
    s.n = one_of({1, 2, 3, 7, 8, 9, columns / 2, columns / 2 + 1, columns - 1, columns, columns + 1,
                  3 * columns, 3 * columns + 5, 70});
    s.k = one_of({1, 2, 3, 4, 5, 15, 16, 17, 33, 64, 100, 511, 512, 513, 700, 1030});
    // Sometimes one of them is large, whatever it is.
    if (trial % 8 == 0) {
      s.*(random() % 2 ? &Shapes::n : &Shapes::m) =
          500 + static_cast<std::int64_t>(random() % 2000);
      s.k = std::min<std::int64_t>(s.k, 33);
    }
    s.row_block = one_of({s.m, (s.m + 1) / 2, std::min<std::int64_t>(s.m, 5)});
    s.column_block = one_of({s.n, std::min(s.n, columns), std::min(s.n, 3 * columns)});
    s.a = static_cast<int>(random() % 3);
    s.b = static_cast<int>(random() % 3);
    s.padding = one_of({0, 0, 1, 3, 16});
    s.at_end = random() % 2;
    int turn = 0;
    for_each_case([&]<class C>(C) {
      // Every case has a fifth of the shapes.
      if ((turn++ + trial) % 5 == 0) check<C>(s);
    });
    if (HasFailure()) return;
  }
}

// Shapes for which operands are packed for all tasks, or read past the sums of a few rows.
TEST(MatrixProduct, LargeAndNarrowShapes) {
  for (const auto& [m, n, k, row_block, column_block] : std::vector<
           std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>>{
           {78, 66, 600, 39, 64},
           {300, 70, 40, 300, 70},
           {1, 700, 600, 1, 256},
           {1, 9, 8200, 1, 9},
           {7, 12, 8193, 4, 5},
           {2, 300, 1030, 2, 300},
           {3, 2048, 40, 3, 2048},
           {9, 1024, 130, 9, 512},
           {8, 2100, 10, 8, 2100},
           {9, 2100, 10, 9, 2100},
           {140, 1024, 20, 70, 1024}})
    for (int b : {0, 1}) {
      for_each_case([&, m = m, n = n, k = k, rows = row_block, columns = column_block]<class C>(C) {
        check<C>({m, n, k, rows, columns, 1 - b, b, 0, b == 0});
      });
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace tessera::testing
