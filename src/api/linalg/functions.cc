// Functions of matrices, and measures of their size and regularity.
#include <tessera/linalg.h>

#include "api/linalg/matrix_operand.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera::inline v0::linalg {

using ops::columns_of;
using ops::matmul;
using ops::rows_of;

namespace {

Value scaled_matrix(Value x, double by) { return ops::mul(x, ops::full_like(x, by)); }

// Broadcasts one number per matrix over the elements of the matrix.
Value over_matrix(Value v, const Shape& shape) {
  Ints dims;
  for (int d = 0; d < v.rank(); ++d) dims.push_back(d);
  return ops::broadcast_in_dim(v, shape, dims);
}

// The numerator p and denominator q of the Pade approximant of degree 13 (Higham 2005, table 2.3).
struct Pade {
  Value p, q;
};
Pade pade(Value a) {
  constexpr std::array<double, 14> b{64764752532480000.0,
                                     32382376266240000.0,
                                     7771770303897600.0,
                                     1187353796428800.0,
                                     129060195264000.0,
                                     10559470521600.0,
                                     670442572800.0,
                                     33522128640.0,
                                     1323241920.0,
                                     40840800.0,
                                     960960.0,
                                     16380.0,
                                     182.0,
                                     1.0};
  const Value one = ops::identity_like(*a.builder, a.dtype(), a.shape());
  const Value a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
  // c6 a6 + c4 a4 + c2 a2
  const auto powers = [&](std::size_t six, std::size_t four, std::size_t two) {
    return ops::add(scaled_matrix(a6, b[six]),
                    ops::add(scaled_matrix(a4, b[four]), scaled_matrix(a2, b[two])));
  };
  const Value odd =
      ops::add(matmul(a6, powers(13, 11, 9)), ops::add(powers(7, 5, 3), scaled_matrix(one, b[1])));
  const Value u = matmul(a, odd);
  const Value v =
      ops::add(matmul(a6, powers(12, 10, 8)), ops::add(powers(6, 4, 2), scaled_matrix(one, b[0])));
  return {ops::add(u, v), ops::sub(v, u)};
}

// Squares each matrix of r `times` times. The loop skips iterations that no matrix needs; finished
// matrices are taken out first, so that they do not overflow.
Value squared(Value r, Value times, std::int64_t most) {
  Builder& b = *r.builder;
  const auto step = [&](bool square) {
    Builder branch;
    const Value x = branch.input(r.type()), left = branch.input(times.type());
    if (!square) return ProgramPtr(branch.finish(std::array{x}));
    const Value more = over_matrix(ops::gt(left, ops::zeros_like(left)), x.shape());
    const Value y = ops::select(more, x, ops::zeros_like(x));
    return ProgramPtr(branch.finish(std::array{ops::select(more, matmul(y, y), x)}));
  };
  Builder body;
  const Value x = body.input(r.type()), left = body.input(times.type());
  Ints all;
  for (int d = 0; d < left.rank(); ++d) all.push_back(d);
  const Value asked = ops::convert(
      ops::gt(ops::reduce_max(left, all), ops::scalar(body, left.dtype(), 0)), DType::int32);
  const Values out = ops::cond(asked, {step(false), step(true)}, std::array{x, left});
  const Value fewer = ops::sub(left, ops::full_like(left, 1));
  const ProgramPtr program = body.finish(std::array{out[0], fewer});
  return ops::scan(program, {}, std::array{r, times}, {}, most, false, b)[0];
}

double infinity() { return std::numeric_limits<double>::infinity(); }

[[noreturn]] void no_such_order(const char* function, const std::string& ord,
                                const SourceLoc& loc) {
  Message(function)
      .problem("the order \"" + ord + "\"")
      .rule(
          "the orders of a matrix are \"fro\", \"nuc\", \"1\", \"-1\", \"2\", \"-2\", \"inf\" and "
          "\"-inf\"")
      .from(loc)
      .advice("leave it out for \"fro\", the root of the sum of squares")
      .raise<Error>();
}

}  // namespace

Array expm(Operand a, std::int64_t max_squarings) {
  // The norm of a double is below 2^1024.
  max_squarings = std::min<std::int64_t>(max_squarings, 1100);
  return of_matrix("linalg.expm", a, true, [&](Value x) -> Values {
    constexpr double kLargest = 5.371920351148152;  // the largest norm for which degree 13 suffices
    if (rows_of(x.shape()) == 0) return {x};
    const int column = x.rank() - 1;
    const Value sums = ops::reduce_sum(ops::abs(x), {column - 1});
    const Value norm = ops::reduce_max(sums, {column - 1});
    // The number of squarings: the power of two by which the norm exceeds kLargest. It is constant
    // under differentiation.
    const Value ratio = ops::stop_gradient(scaled_matrix(norm, 1 / kLargest));
    const Value exponent = ops::max(ops::ceil(scaled_matrix(ops::log(ratio), 1 / std::log(2.0))),
                                    ops::zeros_like(ratio));
    const Value most = ops::full_like(exponent, static_cast<double>(max_squarings));
    const Value times = ops::min(exponent, most);
    const Value down = ops::exp2(ops::neg(times));
    const Value small = ops::mul(x, ops::in_dtype(over_matrix(down, x.shape()), x.dtype()));
    const Pade f = pade(small);
    const Value r = squared(ops::solve(f.q, f.p), ops::convert(times, DType::int32), max_squarings);
    // This comparison also rejects NaN.
    const Value good = over_matrix(ops::le(exponent, most), r.shape());
    return {ops::select(good, r, ops::full_like(r, std::numeric_limits<double>::quiet_NaN()))};
  })[0];
}

Array matrix_power(Operand a, std::int64_t n) {
  const InFunction called("linalg.matrix_power", a.loc);
  return of_matrix("linalg.matrix_power", a, true, [&](Value x) -> Values {
    const Value one = ops::identity_like(*x.builder, x.dtype(), x.shape());
    if (n < 0) x = ops::solve(x, one);
    std::optional<Value> power;
    for (std::uint64_t k = n < 0 ? 0 - static_cast<std::uint64_t>(n)
                                 : static_cast<std::uint64_t>(n);
         k > 0; k /= 2) {
      if (k % 2) power = power ? matmul(*power, x) : x;
      if (k > 1) x = matmul(x, x);
    }
    return {power.value_or(one)};
  })[0];
}

Array multi_dot(const std::vector<Array>& arrays, std::source_location loc) {
  const InFunction called("linalg.multi_dot", loc);
  const std::size_t n = arrays.size();
  for (std::size_t i = 0; i < n; ++i) {
    const int rank = arrays[i].ndim(loc);
    if (rank == 2 || (rank == 1 && (i == 0 || i + 1 == n))) continue;
    Message("linalg.multi_dot")
        .problem("array " + std::to_string(i) + " has shape " + to_string(arrays[i].shape()))
        .rule("all are matrices; the first and the last may be vectors")
        .from(loc)
        .advice("use matmul for stacks of matrices")
        .raise<ShapeError>();
  }
  if (n < 2)
    Message("linalg.multi_dot")
        .problem(std::to_string(n) + (n == 1 ? " array" : " arrays"))
        .rule("a product has two factors at least")
        .from(loc)
        .advice("pass them all in one vector")
        .raise<ShapeError>();
  std::vector<double> extent{arrays[0].ndim() == 1 ? 1.0 : static_cast<double>(arrays[0].shape(0))};
  for (const Array& x : arrays)
    extent.push_back(x.ndim() == 1 && &x != &arrays[0] ? 1.0 : static_cast<double>(x.shape(-1)));
  // The minimal cost of the product of factors [i, j], and where to split it.
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; ++length)
    for (std::size_t i = 0; i + length < n; ++i) {
      const std::size_t j = i + length;
      cost[i][j] = infinity();
      for (std::size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + extent[i] * extent[k + 1] * extent[j + 1];
        if (c < cost[i][j]) cost[i][j] = c, cut[i][j] = k;
      }
    }
  const auto product = [&](auto&& self, std::size_t i, std::size_t j) -> Array {
    if (i == j) return arrays[i];
    return tessera::dot({self(self, i, cut[i][j]), loc}, {self(self, cut[i][j] + 1, j), loc});
  };
  return product(product, 0, n - 1);
}

Array matrix_rank(Operand a, std::optional<double> rtol) {
  return of_matrix("linalg.matrix_rank", a, false, [&](Value x) -> Values {
    const Value s = ops::svd(x, false, false)[0];
    const int last = s.rank() - 1;
    const double eps = real_dtype(x.dtype()) == DType::float64
                           ? std::numeric_limits<double>::epsilon()
                           : static_cast<double>(std::numeric_limits<float>::epsilon());
    const double t = rtol.value_or(
        eps * static_cast<double>(std::max(rows_of(x.shape()), columns_of(x.shape()))));
    if (s.shape()[static_cast<std::size_t>(last)] == 0)
      return {ops::convert(ops::reduce_sum(s, {last}), DType::int32)};
    const Value most = scaled_matrix(ops::reduce_max(s, {last}), t);
    const Value large = ops::gt(s, over_matrix(most, s.shape()));
    return {ops::reduce_sum(ops::convert(large, DType::int32), {last})};
  })[0];
}

Array matrix_norm(Operand x, const MatrixNormOptions& o) {
  const InFunction called("linalg.matrix_norm", x.loc);
  static constexpr std::pair<const char*, double> kOrders[] = {
      {"1", 1}, {"-1", -1}, {"2", 2}, {"-2", -2}, {"inf", HUGE_VAL}, {"-inf", -HUGE_VAL}};
  const AxisList last{-2, -1};
  if (o.ord == "fro") return norm(x, {.axis = last, .keepdims = o.keepdims});
  if (o.ord == "nuc") {
    const Array n = sum(svdvals(x), -1);
    return o.keepdims ? expand_dims(n, last) : n;
  }
  for (const auto& [name, ord] : kOrders)
    if (o.ord == name) return norm(x, {.axis = last, .keepdims = o.keepdims, .ord = ord});
  no_such_order("linalg.matrix_norm", o.ord, x.loc);
}

Array cond(Operand a, const std::string& ord) {
  const InFunction called("linalg.cond", a.loc);
  if (ord == "2" || ord == "-2") {
    const Array s = svdvals(a), most = max(s, -1), least = min(s, -1);
    return ord == "2" ? most / least : least / most;
  }
  return matrix_norm(a, {.ord = ord}) * matrix_norm(inv(a), {.ord = ord});
}
Array cond(Operand a, double ord) {
  if (std::isinf(ord)) return cond(a, ord > 0 ? "inf" : "-inf");
  const bool whole = std::abs(ord) == 1 || std::abs(ord) == 2;
  return cond(a, whole ? std::to_string(static_cast<int>(ord)) : to_string(Array(ord)));
}

Array vector_norm(Operand x, const VectorNormOptions& o) {
  const InFunction called("linalg.vector_norm", x.loc);
  const Shape shape = x.array.shape(x.loc);
  const Ints axes = detail::normalize_axes(o.axis.get(), shape.rank(), "linalg.vector_norm", x.loc);
  std::vector<std::int64_t> order;
  Shape flat;
  for (int d = 0; d < shape.rank(); ++d)
    if (!std::count(axes.begin(), axes.end(), d)) order.push_back(d), flat.push_back(shape[d]);
  std::int64_t n = 1;
  for (std::int64_t d : axes) order.push_back(d), n *= shape[static_cast<std::size_t>(d)];
  flat.push_back(n);
  const Array y = shape.rank() > 1 ? transpose(x, order) : x.array;
  const Array result = norm(reshape({y, x.loc}, flat), {.axis = -1, .ord = o.ord});
  return o.keepdims
             ? expand_dims(result, AxisList(std::vector<std::int64_t>(axes.begin(), axes.end())))
             : result;
}

}  // namespace tessera::inline v0::linalg
