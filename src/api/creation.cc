#include <tessera/creation.h>

#include "api/composite.h"
#include "api/numbers.h"

#include <fmt/format.h>

#include <cmath>

namespace tessera::inline v0 {

using detail::composite1;

namespace detail {

namespace {

void measure(const std::vector<Nested>& rows, std::size_t depth, Shape& shape, int& kind,
             const SourceLoc& loc) {
  if (shape.size() == depth) shape.push_back(static_cast<std::int64_t>(rows.size()));
  bool lists = !rows.empty() && rows[0].kind == 3;
  for (const Nested& r : rows)
    if (shape[depth] != static_cast<std::int64_t>(rows.size()) || (r.kind == 3) != lists)
      Message("array")
          .problem(shape[depth] != static_cast<std::int64_t>(rows.size())
                       ? "rows of " + std::to_string(shape[depth]) + " and " +
                             std::to_string(rows.size()) + " elements at depth " +
                             std::to_string(depth)
                       : "numbers and lists side by side at depth " + std::to_string(depth))
          .rule("all rows of an array have the same shape")
          .from(loc)
          .advice("make the rows equal, or keep a vector of arrays")
          .raise<ShapeError>();
  for (const Nested& r : rows) {
    if (lists)
      measure(r.rows, depth + 1, shape, kind, loc);
    else
      kind = std::max(kind, r.kind);
  }
}

template <class T>
void collect(const std::vector<Nested>& rows, std::vector<T>& out) {
  for (const Nested& r : rows) {
    if (r.kind == 3)
      collect(r.rows, out);
    else if constexpr (std::is_floating_point_v<T>)
      out.push_back(static_cast<T>(r.real));
    else
      out.push_back(static_cast<T>(r.integer));
  }
}

}  // namespace

Array nested(const std::vector<Nested>& rows, std::optional<DType> dtype,
             std::source_location where) {
  Shape shape;
  int kind = rows.empty() ? 2 : 0;
  measure(rows, 0, shape, kind, where);
  DType d = dtype.value_or(kind == 0 ? DType::boolean : kind == 1 ? DType::int32 : DType::float32);
  return dispatch(d, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>) {
      std::vector<float> wide;
      collect(rows, wide);
      std::vector<T> values;
      for (float v : wide) values.push_back(T(v));
      return Array::from_bytes(d, shape, values.data());
    } else if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::uint8_t> values;
      std::vector<double> wide;
      collect(rows, wide);
      for (double v : wide) values.push_back(v != 0);
      return Array::from_bytes(d, shape, values.data());
    } else {
      std::vector<T> values;
      collect(rows, values);
      return Array::from_bytes(d, shape, values.data());
    }
  });
}

void ragged_rows(std::size_t first, std::size_t other, std::source_location loc) {
  Message("array")
      .problem("rows of " + std::to_string(first) + " and " + std::to_string(other) + " elements")
      .rule("all rows of an array have the same length")
      .from(loc)
      .advice("pad the short rows, or keep a vector of arrays")
      .raise<ShapeError>();
}

Array arange(double start, double stop, double step, DType dtype, std::source_location loc) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    Message("arange")
        .problem(fmt::format("arange({}, {}, {}) does not end", start, stop, step))
        .rule("the step is not zero and the bounds are finite")
        .from(loc)
        .advice("use linspace for a number of values between two bounds")
        .raise<ShapeError>();
  const double count = std::ceil((stop - start) / step);
  if (count > 0x1p50)
    Message("arange")
        .problem(fmt::format("arange({}, {}, {}) has {} values", start, stop, step, count))
        .rule("an array has at most 2^50 elements")
        .from(loc)
        .advice("use a larger step")
        .raise<ShapeError>();
  const std::int64_t n = count > 0 ? static_cast<std::int64_t>(count) : 0;
  return composite1("arange", {}, loc, [&](Builder& b, std::span<const Value>) {
    if (!is_floating(dtype) || (start == std::floor(start) && step == 1)) {
      DType as = dtype == DType::boolean ? DType::int32 : dtype;
      Value v = ops::iota(b, as, Shape{n}, 0);
      if (step != 1) v = ops::mul(v, ops::full_like(v, step));
      if (start != 0) v = ops::add(v, ops::full_like(v, start));
      return ops::convert(v, dtype);
    }
    // In double, then rounded once, so that long float ranges do not drift.
    Value v = ops::iota(b, DType::float64, Shape{n}, 0);
    v = ops::add(ops::mul(v, ops::full_like(v, step)), ops::full_like(v, start));
    return ops::convert(v, dtype);
  });
}

}  // namespace detail

Array array(Operand value, std::optional<DType> dtype) {
  const DType own = detail::visible_dtype(detail::need(value.array, "array", value.loc).type);
  const DType d = dtype.value_or(own);
  detail::check_fits("array", value, d);
  return composite1("array", {value.array}, value.loc,
                    [&](Builder&, std::span<const Value> in) { return ops::convert(in[0], d); });
}

namespace {

Array filled(const char* name, const Shape& shape, const Operand& value, std::optional<DType> dtype,
             bool weak = false) {
  for (std::int64_t d : shape)
    if (d < 0)
      Message(name)
          .problem("the shape " + to_string(shape) + " has a negative extent")
          .rule("extents are 0 or more")
          .from(value.loc)
          .advice("give every extent; only reshape infers one from -1")
          .raise<ShapeError>();
  const DType own = detail::visible_dtype(detail::need(value.array, name, value.loc).type);
  const DType d = dtype.value_or(own);
  detail::check_fits(name, value, d);
  return composite1(name, {value.array}, value.loc, [&](Builder&, std::span<const Value> in) {
    return detail::broadcast_to(ops::convert(in[0], d, weak), shape);
  });
}
Array filled_like(const char* name, const Operand& x, const Operand& value) {
  const auto& like = detail::need(x.array, name, x.loc).type;
  return filled(name, like.shape, value, like.dtype, like.weak);
}

}  // namespace

Array full(const Shape& shape, Operand value, std::optional<DType> dtype) {
  return filled("full", shape, value, dtype);
}
Array zeros(const Shape& shape, DType dtype, std::source_location loc) {
  return filled("zeros", shape, {0, loc}, dtype);
}
Array ones(const Shape& shape, DType dtype, std::source_location loc) {
  return filled("ones", shape, {1, loc}, dtype);
}
Array zeros_like(Operand x) { return filled_like("zeros_like", x, {0, x.loc}); }
Array ones_like(Operand x) { return filled_like("ones_like", x, {1, x.loc}); }
Array full_like(Operand x, Operand value) { return filled_like("full_like", x, value); }

Array linspace(double start, double stop, std::int64_t num, bool endpoint, DType dtype,
               std::source_location loc) {
  if (num < 0)
    Message("linspace")
        .problem(std::to_string(num) + " values are asked for")
        .rule("their number is 0 or more")
        .from(loc)
        .advice("give the number of values third: linspace(start, stop, 50)")
        .raise<ShapeError>();
  std::int64_t parts = endpoint ? num - 1 : num;
  return composite1("linspace", {}, loc, [&](Builder& b, std::span<const Value>) {
    // i / parts is exact at both ends, so the first and the last value are the bounds to the bit.
    Value t = ops::iota(b, DType::float64, Shape{std::max<std::int64_t>(0, num)}, 0);
    if (parts > 0) t = ops::div(t, ops::full_like(t, static_cast<double>(parts)));
    Value left = ops::mul(ops::sub(ops::full_like(t, 1), t), ops::full_like(t, start));
    return ops::convert(ops::add(left, ops::mul(t, ops::full_like(t, stop))), dtype);
  });
}

Array eye(std::int64_t n, std::optional<std::int64_t> m, std::int64_t k, DType dtype,
          std::source_location loc) {
  if (n < 0 || m.value_or(n) < 0)
    Message("eye")
        .problem("the shape " + to_string(Shape{n, m.value_or(n)}) + " has a negative extent")
        .rule("extents are 0 or more")
        .from(loc)
        .advice("give the number of rows, and of columns where it differs")
        .raise<ShapeError>();
  return composite1("eye", {}, loc, [&](Builder& b, std::span<const Value>) {
    Shape shape{n, m.value_or(n)};
    Value row = ops::iota(b, DType::int32, shape, 0), column = ops::iota(b, DType::int32, shape, 1);
    return ops::convert(ops::eq(ops::add(row, ops::full_like(row, static_cast<double>(k))), column),
                        dtype);
  });
}

}  // namespace tessera::inline v0
