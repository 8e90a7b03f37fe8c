// Products of matrices by generated kernels, against the order of additions that they promise
// (codegen/matrix/product.h), bit by bit. The model is the same for every instruction set with fused
// multiply-adds, for every division into blocks and for every layout, so all of them agree. Sums are
// also compared with exact ones. Operands lie between pages that must not be read.
#include "codegen/kernel/isa.h"
#include "codegen/matrix/product.h"
#include "codegen/run.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>
#include <random>

namespace tessera::testing {
namespace {

namespace matrix = codegen::matrix;

struct Shapes {
  std::int64_t m, n, k;
  std::int64_t row_block, column_block;
  int a, b;              // layouts: 0 row-major, 1 transposed, 2 with gaps between elements
  std::int64_t padding;  // elements between lines
  bool at_end;           // operands end where their page ends
};

std::ostream& operator<<(std::ostream& out, const Shapes& s) {
  return out << s.m << " x " << s.k << " times " << s.k << " x " << s.n << ", blocks of "
             << s.row_block << " x " << s.column_block << ", layouts " << s.a << " and " << s.b
             << ", padding " << s.padding << (s.at_end ? ", at the end" : ", at the beginning");
}

// An operand of `steps` steps of k and `lines` lines between pages that must not be touched.
template <class T>
struct Operand {
  matrix::Distances distances;
  run::Fenced memory;

  Operand(DType dtype, std::int64_t steps, std::int64_t lines, bool lines_adjacent, const Shapes& s,
          bool gaps)
      : distances(place(steps, lines, lines_adjacent, s.padding, gaps ? 2 : 1)),
        memory(dtype, Shape{(steps - 1) * distances.step + (lines - 1) * distances.line + 1},
               s.at_end) {}
  static matrix::Distances place(std::int64_t steps, std::int64_t lines, bool lines_adjacent,
                                 std::int64_t padding, std::int64_t apart) {
    return lines_adjacent ? matrix::Distances{lines * apart + padding, apart}
                          : matrix::Distances{apart, steps * apart + padding};
  }
  T* data() { return reinterpret_cast<T*>(memory.array.bytes); }
  T& at(std::int64_t step, std::int64_t line) {
    return data()[step * distances.step + line * distances.line];
  }
};

template <class T>
T promised_sum(Operand<T>& a, Operand<T>& b, std::int64_t row, std::int64_t column,
               std::int64_t k) {
  const std::int64_t chunk = matrix::chunk_of(k);
  T total = 0;
  for (std::int64_t first = 0; first < k; first += chunk) {
    T sum = 0;
    for (std::int64_t i = first; i < std::min(k, first + chunk); ++i) {
      const T x = a.at(i, row), y = b.at(i, column);
      if (codegen::host_isa().fused) {
        sum = std::fma(x, y, sum);
      } else {
        const T product = x * y;
        sum = sum + product;
      }
    }
    total = first ? total + sum : sum;
  }
  return total;
}

// Returns what is wrong with a product, or nothing.
template <class T>
std::string fault(const Shapes& s) {
  const DType dtype = sizeof(T) == 8 ? DType::float64 : DType::float32;
  Operand<T> a(dtype, s.k, s.m, s.a == 1, s, s.a == 2), b(dtype, s.k, s.n, s.b != 1, s, s.b == 2);
  std::mt19937 random(static_cast<unsigned>(s.m * 31 + s.n * 7 + s.k));
  std::uniform_real_distribution<T> number(-1, 1);
  for (std::int64_t i = 0; i < s.k; ++i) {
    for (std::int64_t row = 0; row < s.m; ++row) a.at(i, row) = number(random);
    for (std::int64_t column = 0; column < s.n; ++column) b.at(i, column) = number(random);
  }
  run::Fenced result(dtype, {s.m, s.n}, s.at_end);
  T* c = reinterpret_cast<T*>(result.array.bytes);
  std::fill_n(c, s.m * s.n, std::numeric_limits<T>::quiet_NaN());
  const matrix::Product product(
      {dtype, dtype, s.m, s.n, s.k, a.distances, b.distances, s.row_block, s.column_block});
  std::vector<T> shared;
  if (product.shares_b()) {
    shared.resize(product.shared_bytes() / sizeof(T));
    for (std::int64_t task = product.shared_tasks(); task-- > 0;)
      product.share(b.data(), shared.data(), task);
  }
  for (std::int64_t row = 0; row < s.m; row += s.row_block)
    for (std::int64_t column = 0; column < s.n; column += s.column_block)
      product.run({&a.at(0, row), &b.at(0, column), c + row * s.n + column, s.n,
                   std::min(s.row_block, s.m - row), std::min(s.column_block, s.n - column), s.k,
                   shared.empty() ? nullptr : shared.data(), column});
  if (!result.untouched()) return "wrote outside the result";
  const double terms = static_cast<double>(std::min(s.k, matrix::chunk_of(s.k))),
               chunks = std::ceil(static_cast<double>(s.k) / terms),
               roundings = codegen::host_isa().fused ? terms + chunks : 2 * terms + chunks;
  for (std::int64_t row = 0; row < s.m; ++row)
    for (std::int64_t column = 0; column < s.n; ++column) {
      const T got = c[row * s.n + column], promised = promised_sum(a, b, row, column, s.k);
      if (std::memcmp(&got, &promised, sizeof got) != 0)
        return "element " + std::to_string(row) + ", " + std::to_string(column) + " is " +
               std::to_string(got) + ", not " + std::to_string(promised);
      // A rounding is at most half a unit in the last place of a partial sum, and no partial sum
      // exceeds the sum of the absolute values by more than the factor (1 + epsilon)^roundings.
      long double exact = 0, size = 0;
      for (std::int64_t i = 0; i < s.k; ++i) {
        const long double term =
            static_cast<long double>(a.at(i, row)) * static_cast<long double>(b.at(i, column));
        exact += term;
        size += std::abs(term);
      }
      const long double bound = 0.51L * roundings * std::numeric_limits<T>::epsilon() * size;
      if (std::abs(exact - static_cast<long double>(got)) > bound)
        return "element " + std::to_string(row) + ", " + std::to_string(column) +
               " is further from the exact sum than roundings explain";
    }
  return "";
}

// Reports a product that is wrong in the smallest form that is found.
template <class T>
void check(Shapes s) {
  std::string wrong = fault<T>(s);
  if (wrong.empty()) return;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (auto extent : {&Shapes::m, &Shapes::n, &Shapes::k, &Shapes::row_block,
                        &Shapes::column_block, &Shapes::padding})
      for (std::int64_t by : {s.*extent / 2, std::int64_t{1}}) {
        Shapes t = s;
        t.*extent -= by;
        if (by == 0 || t.*extent < (extent == &Shapes::padding ? 0 : 1)) continue;
        const std::string still = fault<T>(t);
        if (still.empty()) continue;
        s = t, wrong = still, smaller = true;
        break;
      }
  }
  ADD_FAILURE() << (sizeof(T) == 8 ? "float64 " : "float32 ") << s << ": " << wrong;
}

TEST(MatrixProduct, AddsInTheOrderThatItPromises) {
  std::mt19937 random(11);
  const std::int64_t rows = matrix::most_rows(), columns = 2 * matrix::lanes_of(DType::float32);
  auto one_of = [&](std::vector<std::int64_t> values) { return values[random() % values.size()]; };
  for (int trial = 0; trial < 400; ++trial) {
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
    trial % 3 ? check<float>(s) : check<double>(s);
    if (HasFailure()) return;
  }
}

// Shapes for which operands are packed for all tasks, or read past the sums of a few rows.
TEST(MatrixProduct, LargeAndNarrowShapes) {
  for (const auto& [m, n, k, row_block, column_block] : std::vector<
           std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>>{
           {150, 96, 600, 75, 64},
           {300, 70, 40, 300, 70},
           {1, 700, 600, 1, 256},
           {2, 300, 1030, 2, 300},
           {3, 2048, 40, 3, 2048},
           {9, 1024, 130, 9, 512},
           {8, 2100, 10, 8, 2100},
           {9, 2100, 10, 9, 2100},
           {140, 1024, 20, 70, 1024}})
    for (int a : {0, 1})
      for (int b : {0, 1}) {
        check<float>({m, n, k, row_block, column_block, a, b, 0, true});
        check<double>({m, n, k, row_block, column_block, a, b, 0, false});
      }
}

}  // namespace
}  // namespace tessera::testing
