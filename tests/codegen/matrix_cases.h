// Products of matrices of every kind, and what they are compared with: the order of additions that
// they promise (codegen/matrix/product.h and unit_kernel.h), bit by bit, and exact sums. Integers
// are compared with sums modulo 2^64. Operands lie between pages that must not be read.
#pragma once

#include "codegen/kernel/isa.h"
#include "codegen/matrix/product.h"
#include "codegen/run.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::testing::products {

namespace matrix = codegen::matrix;

struct Shapes {
  std::int64_t m, n, k;
  std::int64_t row_block, column_block;
  int a, b;              // layouts: 0 row-major, 1 transposed, 2 with gaps between elements
  std::int64_t padding;  // elements between lines
  bool at_end;           // operands end where their page ends
};

inline std::ostream& operator<<(std::ostream& out, const Shapes& s) {
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

// A product's kind, and the type of the elements of its operands and of its sums.
template <class From, class To, matrix::Terms kTerms = matrix::Terms::single>
struct Case {
  using Element = From;
  using Sum = To;
  static constexpr matrix::Terms terms = kTerms;
  static matrix::Kind kind() { return {dtype_of<To>(), kTerms}; }
};

template <class T>
T multiply_add(T x, T y, T sum) {
  if (codegen::host_isa().fused) return std::fma(x, y, sum);
  const T product = x * y;
  return sum + product;
}
template <class T>
std::complex<T> multiply_add(std::complex<T> x, std::complex<T> y, std::complex<T> sum) {
  const T re = multiply_add(x.real(), y.real(), sum.real()),
          im = multiply_add(x.real(), y.imag(), sum.imag());
  return {multiply_add(-x.imag(), y.imag(), re), multiply_add(x.imag(), y.real(), im)};
}
#if defined(__x86_64__)
__attribute__((target("avx512bf16,avx512vl"))) inline float add_pair(const bfloat16_t* x,
                                                                     const bfloat16_t* y,
                                                                     float sum) {
  std::uint32_t of_x = 0, of_y = 0;
  std::memcpy(&of_x, x, sizeof of_x);
  std::memcpy(&of_y, y, sizeof of_y);
  return _mm_cvtss_f32(_mm_dpbf16_ps(_mm_set_ss(sum),
                                     (__m128bh)_mm_set1_epi32(static_cast<int>(of_x)),
                                     (__m128bh)_mm_set1_epi32(static_cast<int>(of_y))));
}
#else
inline float add_pair(const bfloat16_t*, const bfloat16_t*, float sum) { return sum; }
#endif

inline float flushed(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}
// The order of codegen/matrix/unit_kernel.h. Subnormal bfloat16 are zeros, and those of float16 are
// normal numbers of float32.
template <class E>
float sum_of_unit(Operand<E>& a, Operand<E>& b, std::int64_t row, std::int64_t column,
                  std::int64_t k) {
  constexpr std::int64_t kGroup = 2 * matrix::kUnitWords;
  float sum = 0;
  for (std::int64_t first = 0; first < k; first += kGroup) {
    float halves[2] = {};
    for (std::int64_t i = first; i < std::min(k, first + kGroup); ++i) {
      float& half = halves[(i - first) % 2];
      half = flushed(std::fma(flushed(static_cast<float>(a.at(i, row))),
                              flushed(static_cast<float>(b.at(i, column))), half));
    }
    sum = flushed(sum + flushed(halves[0] + halves[1]));
  }
  return sum;
}

// The order of codegen/matrix/line_kernel.h.
template <class T, class E>
T sum_by_lines(Operand<E>& a, Operand<E>& b, std::int64_t row, std::int64_t column,
               std::int64_t k) {
  T total = 0;
  for (std::int64_t first = 0; first < k; first += matrix::kLineChunk) {
    T sums[matrix::kLineSums] = {};
    for (std::int64_t i = first; i < std::min(k, first + matrix::kLineChunk); ++i) {
      T& sum = sums[(i - first) % matrix::kLineSums];
      sum = multiply_add(static_cast<T>(a.at(i, row)), static_cast<T>(b.at(i, column)), sum);
    }
    for (int half = matrix::kLineSums / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) sums[i] += sums[half + i];
    total = first ? total + sums[0] : sums[0];
  }
  return total;
}

template <class C, class E = typename C::Element>
typename C::Sum promised_sum(Operand<E>& a, Operand<E>& b, std::int64_t row, std::int64_t column,
                             std::int64_t k, bool by_lines) {
  using T = typename C::Sum;
  if constexpr (!std::is_integral_v<T>)
    if (by_lines) return sum_by_lines<T>(a, b, row, column, k);
  if constexpr (matrix::on_unit(C::terms) && !std::is_integral_v<T>) {
    return sum_of_unit(a, b, row, column, k);
  } else if constexpr (std::is_integral_v<T>) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i)
      sum += static_cast<std::uint64_t>(a.at(i, row)) * static_cast<std::uint64_t>(b.at(i, column));
    return static_cast<T>(sum);
  } else {
    const std::int64_t chunk = matrix::chunk_of(k, C::terms), each = matrix::steps_of(C::terms);
    T total = 0;
    for (std::int64_t first = 0; first < k; first += chunk) {
      T sum = 0;
      const std::int64_t last = std::min(k, first + chunk);
      for (std::int64_t i = first; i < last; i += each) {
        if constexpr (C::terms == matrix::Terms::pairs_bfloat16) {
          const bool two = i + 1 < last;
          const bfloat16_t x[] = {a.at(i, row), two ? a.at(i + 1, row) : bfloat16_t(0)},
                           y[] = {b.at(i, column), two ? b.at(i + 1, column) : bfloat16_t(0)};
          sum = add_pair(x, y, sum);
        } else {
          sum = multiply_add(static_cast<T>(a.at(i, row)), static_cast<T>(b.at(i, column)), sum);
        }
      }
      total = first ? total + sum : sum;
    }
    return total;
  }
}

template <class T>
struct Drawn {
  std::mt19937 random;
  T operator()() {
    if constexpr (std::is_integral_v<T>) {
      // The ends of the range are as likely as a tenth of what lies between.
      const unsigned which = random() % 20;
      if (which < 2) return which ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      return static_cast<T>(std::uniform_int_distribution<std::int64_t>(
          std::numeric_limits<std::int64_t>::min())(random));
    } else if constexpr (is_complex_v<T>) {
      using R = typename T::value_type;
      std::uniform_real_distribution<R> number(-1, 1);
      const R re = number(random);
      return {re, number(random)};
    } else {
      using R = std::conditional_t<std::is_same_v<T, double>, double, float>;
      return T(std::uniform_real_distribution<R>(-1, 1)(random));
    }
  }
};

// Whether a sum of terms is further from the exact one than so many roundings explain. A rounding is
// at most half a unit in the last place of a partial sum, and no partial sum exceeds the sum of the
// absolute values by more than the factor (1 + epsilon)^roundings.
template <class T, class Term>
bool too_far(T got, std::int64_t k, double roundings, Term term) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else if constexpr (is_complex_v<T>) {
    // Two terms of each part for a product.
    return too_far(got.real(), k, 2 * roundings,
                   [&](std::int64_t i, bool size) { return term(i, size).real(); }) ||
           too_far(got.imag(), k, 2 * roundings,
                   [&](std::int64_t i, bool size) { return term(i, size).imag(); });
  } else {
    long double exact = 0, size = 0;
    for (std::int64_t i = 0; i < k; ++i) exact += term(i, false), size += term(i, true);
    const long double bound = 0.51L * roundings * std::numeric_limits<T>::epsilon() * size;
    return std::abs(exact - static_cast<long double>(got)) > bound;
  }
}

// The product of two elements, or of their absolute values.
template <class T>
auto exact_product(T x, T y, bool size) {
  if constexpr (is_complex_v<T>) {
    const long double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    using C = std::complex<long double>;
    return size ? C(std::abs(a * c) + std::abs(b * d), std::abs(a * d) + std::abs(b * c))
                : C(a * c - b * d, a * d + b * c);
  } else {
    using R = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const long double product =
        static_cast<long double>(static_cast<R>(x)) * static_cast<long double>(static_cast<R>(y));
    return size ? std::abs(product) : product;
  }
}

template <class T>
std::string text_of(T x) {
  if constexpr (is_complex_v<T>)
    return std::to_string(x.real()) + " + " + std::to_string(x.imag()) + "i";
  else
    return std::to_string(x);
}

// Returns what is wrong with a product, or nothing.
template <class C>
std::string fault(const Shapes& s) {
  using E = typename C::Element;
  using T = typename C::Sum;
  const DType dtype = dtype_of<E>();
  Operand<E> a(dtype, s.k, s.m, s.a == 1, s, s.a == 2), b(dtype, s.k, s.n, s.b != 1, s, s.b == 2);
  Drawn<E> drawn{std::mt19937(static_cast<unsigned>(s.m * 31 + s.n * 7 + s.k))};
  for (std::int64_t i = 0; i < s.k; ++i) {
    for (std::int64_t row = 0; row < s.m; ++row) a.at(i, row) = drawn();
    for (std::int64_t column = 0; column < s.n; ++column) b.at(i, column) = drawn();
  }
  run::Fenced result(dtype_of<T>(), {s.m, s.n}, s.at_end);
  T* c = reinterpret_cast<T*>(result.array.bytes);
  std::memset(static_cast<void*>(c), 0xff, static_cast<std::size_t>(s.m * s.n) * sizeof(T));
  const matrix::Problem problem{dtype,       C::kind(),   s.m,         s.n,           s.k,
                                a.distances, b.distances, s.row_block, s.column_block};
  const matrix::Product product(problem);
  const bool by_lines = matrix::adds_by_lines(problem);
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
  const bool unit = matrix::on_unit(C::terms);
  // The terms that are added one after the other, and the sums that are then added up.
  const double terms = static_cast<double>(unit ? std::min<std::int64_t>(s.k, 17)
                                                : std::min(s.k, matrix::chunk_of(s.k, C::terms))),
               chunks = std::ceil(static_cast<double>(s.k) / (unit ? 32 : terms)),
               roundings = codegen::host_isa().fused ? terms + chunks : 2 * terms + chunks;
  for (std::int64_t row = 0; row < s.m; ++row)
    for (std::int64_t column = 0; column < s.n; ++column) {
      const T got = c[row * s.n + column],
              promised = promised_sum<C>(a, b, row, column, s.k, by_lines);
      if (std::memcmp(&got, &promised, sizeof got) != 0)
        return "element " + std::to_string(row) + ", " + std::to_string(column) + " is " +
               text_of(got) + ", not " + text_of(promised);
      if (too_far(got, s.k, roundings, [&](std::int64_t i, bool size) {
            return exact_product(a.at(i, row), b.at(i, column), size);
          }))
        return "element " + std::to_string(row) + ", " + std::to_string(column) +
               " is further from the exact sum than roundings explain";
    }
  return "";
}

// Reports a product that is wrong in the smallest form that is found.
template <class C>
void check(Shapes s) {
  std::string wrong = fault<C>(s);
  if (wrong.empty()) return;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (auto extent : {&Shapes::m, &Shapes::n, &Shapes::k, &Shapes::row_block,
                        &Shapes::column_block, &Shapes::padding})
      for (std::int64_t by : {s.*extent / 2, std::int64_t{1}}) {
        Shapes t = s;
        t.*extent -= by;
        if (by == 0 || t.*extent < (extent == &Shapes::padding ? 0 : 1)) continue;
        const std::string still = fault<C>(t);
        if (still.empty()) continue;
        s = t, wrong = still, smaller = true;
        break;
      }
  }
  ADD_FAILURE() << name_of(dtype_of<typename C::Element>()) << ", terms "
                << static_cast<int>(C::terms) << ", " << s << ": " << wrong;
}

using matrix::Terms;
using Float32 = Case<float, float>;
using Float64 = Case<double, double>;

// Calls `f` with every kind of product that this processor has.
template <class F>
void for_each_case(F f) {
  f(Float32{});
  f(Float64{});
  f(Case<bfloat16_t, float>{});
  if (codegen::host_isa().avx2) f(Case<float16_t, float>{});
  if (matrix::has_bfloat16_pairs()) f(Case<bfloat16_t, float, Terms::pairs_bfloat16>{});
  f(Case<std::complex<float>, std::complex<float>>{});
  f(Case<std::complex<double>, std::complex<double>>{});
  f(Case<std::int32_t, std::int32_t>{});
  f(Case<std::uint16_t, std::int32_t>{});
  f(Case<std::int8_t, std::int32_t>{});
  f(Case<std::int64_t, std::int64_t>{});
  const auto has = [](DType operand, Terms terms) {
    return matrix::integer_kind(operand, DType::int32).terms == terms;
  };
  if (has(DType::int8, Terms::quads_int8)) f(Case<std::int8_t, std::int32_t, Terms::quads_int8>{});
  if (has(DType::int16, Terms::pairs_int16)) {
    f(Case<std::int8_t, std::int32_t, Terms::pairs_int16>{});
    f(Case<std::uint8_t, std::int32_t, Terms::pairs_int16>{});
    f(Case<std::int16_t, std::int32_t, Terms::pairs_int16>{});
  }
}

// Calls `f` with every kind of product of a matrix unit.
template <class F>
void for_each_unit_case(F f) {
  f(Case<bfloat16_t, float, Terms::unit_bfloat16>{});
  if (codegen::host_isa().avx2) f(Case<float16_t, float, Terms::unit_float16>{});
  f(Case<std::int8_t, std::int32_t, Terms::unit_int8>{});
  f(Case<std::uint8_t, std::int32_t, Terms::unit_uint8>{});
}

}  // namespace tessera::testing::products
