#include "api/linalg/matrix_operand.h"

namespace tessera::inline v0::linalg {

Value Computed::back(Value x) const {
  const bool narrow = size_of(real_dtype(dtype)) < 4;
  return narrow && is_floating(x.dtype()) ? ops::convert(x, dtype) : x;
}

Computed computed(std::span<const Value> in) {
  Computed c{Values(in.begin(), in.end()), DType::float32};
  if (c.values.size() == 2)
    detail::promote_inexact(c.values[0], c.values[1]);
  else
    for (Value& v : c.values) v = detail::to_inexact(v);
  c.dtype = c.values[0].dtype();
  if (size_of(real_dtype(c.dtype)) < 4)
    for (Value& v : c.values) v = ops::convert(v, DType::float32);
  return c;
}

void need_matrix(const char* function, const Value& x, const SourceLoc& loc) {
  if (x.rank() < 2)
    Message(function)
        .problem("the operand has shape " + to_string(x.shape()))
        .rule("matrices are the last two axes of an array")
        .from(loc)
        .advice("give it rows and columns with reshape")
        .raise<ShapeError>();
}

void need_square(const char* function, const Value& x, const SourceLoc& loc) {
  need_matrix(function, x, loc);
  const std::int64_t m = ops::rows_of(x.shape()), n = ops::columns_of(x.shape());
  if (m != n)
    Message(function)
        .problem("the operand has shape " + to_string(x.shape()) + ": matrices of " +
                 std::to_string(m) + " rows and " + std::to_string(n) + " columns")
        .rule("the matrices are square")
        .from(loc)
        .advice(
            "check which axes hold the matrices, they are the last two; for others there are "
            "lstsq, pinv, qr and svd")
        .raise<ShapeError>();
}

Value symmetrized(Value a) {
  const Value sum = ops::add(a, ops::adjoint(a));
  return ops::mul(sum, ops::full_like(sum, 0.5));
}

Value System::solution(Value x) const {
  if (!vector) return x;
  Shape s = x.shape();
  s.erase(s.end() - 1);
  return ops::reshape(x, s);
}

System system_of(const char* function, Value a, Value b, const SourceLoc& loc) {
  const Shape given = b.shape();
  const bool vector = b.rank() == 1;
  if (vector) b = ops::reshape(b, Shape{given[0], 1});
  if (b.rank() < 2 || ops::rows_of(a.shape()) != ops::rows_of(b.shape()))
    Message(function)
        .problem("a has shape " + to_string(a.shape()) + " and b has shape " + to_string(given))
        .rule(b.rank() < 2 ? "b is a vector or has columns"
                           : "b has as many elements, or rows, as a has rows: " +
                                 std::to_string(ops::rows_of(a.shape())) + ", not " +
                                 std::to_string(ops::rows_of(b.shape())))
        .from(loc)
        .advice("a stack of vectors is given a last axis: expand_dims(b, -1)")
        .raise<ShapeError>();
  const Shape batch =
      broadcast_shapes(Shape(a.shape().begin(), a.shape().end() - 2),
                       Shape(b.shape().begin(), b.shape().end() - 2), function, loc);
  const auto widened = [&](Value x) {
    Shape s = batch;
    s.push_back(ops::rows_of(x.shape()));
    s.push_back(ops::columns_of(x.shape()));
    return detail::broadcast_to(x, s);
  };
  return {widened(a), widened(b), vector};
}

}  // namespace tessera::inline v0::linalg
