#include <tessera/creation.h>

#include "api/trace/composite.h"
#include "api/trace/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace tessera::inline v0 {

using detail::composite1;

namespace detail {

namespace {

void measure(const std::vector<Nested>& rows, std::size_t depth, Shape& shape, int& kind,
             const SourceLoc& loc) {
  if (shape.size() == depth) shape.push_back(static_cast<std::int64_t>(rows.size()));
  bool lists = !rows.empty() && rows[0].kind == Nested::kList;
  for (const Nested& r : rows)
    if (shape[depth] != static_cast<std::int64_t>(rows.size()) ||
        (r.kind == Nested::kList) != lists)
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

// Converts a number in braces to T; throws DTypeError if T cannot hold it.
template <class T>
T element_at(const Nested& r, DType dtype, const SourceLoc& loc) {
  bool holds = true;
  T value{};
  if (r.kind == Nested::kComplex && !is_complex_v<T>)
    Message("array")
        .problem(fmt::format("the value {}{:+}j is not real", r.real, r.imag))
        .rule(std::string(name_of(dtype)) + " holds real numbers")
        .from(loc)
        .advice("name a complex dtype, for example array({...}, ts::c64)")
        .raise<DTypeError>();
  if constexpr (std::is_same_v<T, bool>) {
    value = r.kind == Nested::kReal ? r.real != 0 : r.integer != 0;
  } else if constexpr (std::is_integral_v<T>) {
    // Fractions are truncated. The upper bound, one past the largest value, is a power of two and
    // exact.
    const double past = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const auto least = static_cast<double>(std::numeric_limits<T>::min());
    if (r.kind == Nested::kReal) {
      holds = std::trunc(r.real) >= least && std::trunc(r.real) < past;
      if (holds) value = static_cast<T>(r.real);
    } else {
      holds = r.past_int64 ? std::is_same_v<T, std::uint64_t> : std::in_range<T>(r.integer);
      value = static_cast<T>(r.integer);
    }
  } else if constexpr (is_complex_v<T>) {
    using Part = typename T::value_type;
    value = {static_cast<Part>(r.real), static_cast<Part>(r.imag)};
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(r.real);
  } else {
    value = T(static_cast<float>(r.real));
  }
  if (!holds) {
    const Limits range = limits_of(dtype);
    Message("array")
        .problem(fmt::format("the value {} is not {} {}",
                             r.kind == Nested::kReal ? fmt::format("{}", r.real)
                             : r.past_int64 ? std::to_string(static_cast<std::uint64_t>(r.integer))
                                            : std::to_string(r.integer),
                             is_unsigned_integer(dtype) ? "a" : "an", name_of(dtype)))
        .rule(fmt::format("{} holds {} to {}", name_of(dtype), range.least, range.most))
        .from(loc)
        .advice("name a wider dtype, for example array({...}, ts::i64)")
        .raise<DTypeError>();
  }
  return value;
}

template <class F>
void each_number(const std::vector<Nested>& rows, F&& f) {
  for (const Nested& r : rows) {
    if (r.kind == Nested::kList)
      each_number(r.rows, f);
    else
      f(r);
  }
}

// int32, or a wider dtype if a value needs it.
DType integers_in(const std::vector<Nested>& rows) {
  DType d = DType::int32;
  each_number(rows, [&](const Nested& r) {
    if (r.past_int64)
      d = DType::uint64;
    else if (d == DType::int32 && !std::in_range<std::int32_t>(r.integer))
      d = DType::int64;
  });
  return d;
}

Array nested(const std::vector<Nested>& rows, std::optional<DType> dtype,
             std::source_location where) {
  Shape shape;
  int kind = rows.empty() ? Nested::kReal : Nested::kBoolean;
  measure(rows, 0, shape, kind, where);
  const DType d = dtype.value_or(kind == Nested::kBoolean   ? DType::boolean
                                 : kind == Nested::kInteger ? integers_in(rows)
                                 : kind == Nested::kComplex ? DType::complex64
                                                            : DType::float32);
  return dispatch(d, [&](auto tag) {
    using T = decltype(tag);
    // std::vector<bool> is packed, so it has no byte per element.
    const auto count = static_cast<std::size_t>(shape.count());
    auto values = std::make_unique<T[]>(count);
    std::size_t next = 0;
    each_number(rows, [&](const Nested& r) { values[next++] = element_at<T>(r, d, where); });
    return Array::from_bytes(d, shape, values.get());
  });
}

}  // namespace

Nested::Nested(std::initializer_list<Nested> v) : kind(kList), rows(v) {}
Nested::Nested(const Nested&) = default;
Nested::~Nested() = default;

void ragged_rows(std::size_t first, std::size_t other, std::source_location loc) {
  Message("array")
      .problem("rows of " + std::to_string(first) + " and " + std::to_string(other) + " elements")
      .rule("all rows of an array have the same length")
      .from(loc)
      .advice("pad the short rows, or keep a vector of arrays")
      .raise<ShapeError>();
}

namespace {
[[noreturn]] void endless(const std::string& call, const SourceLoc& loc) {
  Message("arange")
      .problem(call + " does not end")
      .rule("the step is not zero and the bounds are finite")
      .from(loc)
      .advice("use linspace for a number of values between two bounds")
      .raise<ShapeError>();
}
[[noreturn]] void too_many(const std::string& call, const std::string& count,
                           const SourceLoc& loc) {
  Message("arange")
      .problem(call + " has " + count + " values")
      .rule("an array has at most 2^50 elements")
      .from(loc)
      .advice("use a larger step")
      .raise<ShapeError>();
}
__extension__ using Wide = __int128;
std::string text_of_value(Wide v) {
  return v < 0 ? std::to_string(static_cast<std::int64_t>(v))
               : std::to_string(static_cast<std::uint64_t>(v));
}
std::string text_of_value(double v) { return fmt::format("{}", v); }

// Whether `dtype` can hold an integer, or a float with its fraction truncated.
template <class V>
bool holds(DType dtype, V v) {
  return dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
      return true;
    } else if constexpr (std::is_same_v<V, Wide>) {
      return v >= Wide(std::numeric_limits<T>::min()) && v <= Wide(std::numeric_limits<T>::max());
    } else {  // one past the largest value is a power of two, exact in floats
      return std::trunc(v) >= static_cast<double>(std::numeric_limits<T>::min()) &&
             std::trunc(v) < std::ldexp(1.0, std::numeric_limits<T>::digits);
    }
  });
}
// The values are monotonic: if the first and the last fit, all do.
template <class V>
void values_fit(const char* function, const std::string& call, V first, V last, DType dtype,
                const SourceLoc& loc) {
  if (!is_integer(dtype) || (holds(dtype, first) && holds(dtype, last))) return;
  const Limits range = limits_of(dtype);
  const std::string problem =
      call + " goes from " + text_of_value(first) + " to " + text_of_value(last);
  Message(function)
      .problem(problem)
      .rule(fmt::format("{} holds {} to {}", name_of(dtype), range.least, range.most))
      .from(loc)
      .advice("name a wider dtype, ts::i64 or ts::f32")
      .raise<DTypeError>();
}
}  // namespace

Array arange(double start, double stop, double step, std::optional<DType> given,
             std::source_location loc) {
  const DType dtype = given.value_or(DType::float32);
  const std::string call = fmt::format("arange({}, {}, {})", start, stop, step);
  if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    endless(call, loc);
  const double count = std::ceil((stop - start) / step);
  if (count > 0x1p50) too_many(call, fmt::format("{}", count), loc);
  const std::int64_t n = count > 0 ? static_cast<std::int64_t>(count) : 0;
  if (n > 0)
    values_fit("arange", call, start, start + static_cast<double>(n - 1) * step, dtype, loc);
  return composite1("arange", {}, loc, [&](Builder& b, std::span<const Value>) {
    // Compute in double and round once, so that long ranges do not drift.
    Value v = ops::iota(b, DType::float64, Shape{n}, 0);
    if (step != 1) v = ops::mul(v, ops::full_like(v, step));
    if (start != 0) v = ops::add(v, ops::full_like(v, start));
    return ops::convert(v, dtype);
  });
}

Array arange_integers(Whole from, Whole to, Whole by_each, std::optional<DType> given,
                      std::source_location loc) {
  const auto wide = [](Whole v) {
    return v.past_int64 ? Wide(static_cast<std::uint64_t>(v.integer)) : Wide(v.integer);
  };
  const Wide start = wide(from), stop = wide(to), step = wide(by_each);
  const std::string call = "arange(" + text_of_value(start) + ", " + text_of_value(stop) + ", " +
                           text_of_value(step) + ")";
  if (step == 0) endless(call, loc);
  const Wide span = step > 0 ? stop - start : start - stop, by = step > 0 ? step : -step;
  const Wide count = span <= 0 ? 0 : (span + by - 1) / by;
  if (count > Wide(1) << 50) too_many(call, fmt::format("{}", static_cast<double>(count)), loc);
  const auto n = static_cast<std::int64_t>(count);
  const Wide last = n > 0 ? start + (n - 1) * step : start;
  const auto all_in = [&](DType d) { return n == 0 || (holds(d, start) && holds(d, last)); };
  const DType needed = all_in(DType::int32)   ? DType::int32
                       : all_in(DType::int64) ? DType::int64
                                              : DType::uint64;
  const DType dtype = given.value_or(needed);
  if (n > 0) values_fit("arange", call, start, last, dtype, loc);
  return composite1("arange", {}, loc, [&](Builder& b, std::span<const Value>) {
    // Integer arithmetic wraps, so an overflow of the product does not affect the sum.
    const bool exact = is_integer(dtype);
    const DType work = needed == DType::uint64 ? DType::uint64 : DType::int64;
    Value v = ops::iota(b, exact ? dtype : work, Shape{n}, 0);
    const auto all = [&](Wide value) {
      const Value one =
          ops::constant(b, scalar_literal(v.dtype(), static_cast<std::int64_t>(value)));
      return ops::broadcast_in_dim(one, v.shape(), {});
    };
    if (step != 1) v = ops::mul(v, all(step));
    if (start != 0) v = ops::add(v, all(start));
    return ops::convert(v, dtype);
  });
}

}  // namespace detail

Array array(std::initializer_list<detail::Nested> values, std::optional<DType> dtype,
            std::source_location loc) {
  return detail::nested(values, dtype, loc);
}

Array array(Operand value, std::optional<DType> dtype) {
  const DType own = detail::visible_dtype(detail::need(value.array, "array", value.loc).type);
  const DType d = dtype.value_or(own);
  detail::check_fits("array", value, d);
  return composite1("array", {value.array}, value.loc,
                    [&](Builder&, std::span<const Value> in) { return ops::convert(in[0], d); });
}

namespace {

Array filled_with(const char* name, const Shape& shape, const Operand& value,
                  std::optional<DType> dtype, bool weak = false) {
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
  return filled_with(name, like.shape, value, like.dtype, like.weak);
}

}  // namespace

Array full(const Shape& shape, Operand value, std::optional<DType> dtype) {
  return filled_with("full", shape, value, dtype);
}
Array zeros(const Shape& shape, DType dtype, std::source_location loc) {
  return filled_with("zeros", shape, {0, loc}, dtype);
}
Array ones(const Shape& shape, DType dtype, std::source_location loc) {
  return filled_with("ones", shape, {1, loc}, dtype);
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
  if (num > 0 && is_integer(dtype)) {
    const double last =
        num == 1 ? start
        : endpoint
            ? stop
            : start + (stop - start) * (static_cast<double>(num - 1) / static_cast<double>(num));
    detail::values_fit("linspace", fmt::format("linspace({}, {}, {})", start, stop, num),
                       std::floor(start), std::floor(last), dtype, loc);
  }
  return composite1("linspace", {}, loc, [&](Builder& b, std::span<const Value>) {
    // i / parts is exact at both ends, so the first and the last value equal the bounds exactly.
    Value t = ops::iota(b, DType::float64, Shape{std::max<std::int64_t>(0, num)}, 0);
    if (parts > 0) t = ops::div(t, ops::full_like(t, static_cast<double>(parts)));
    Value left = ops::mul(ops::sub(ops::full_like(t, 1), t), ops::full_like(t, start));
    Value v = ops::add(left, ops::mul(t, ops::full_like(t, stop)));
    // 0 * infinity is NaN, so set the bounds explicitly: a single value is `start`, and the last of
    // several is `stop`.
    if (num == 1) v = ops::full_like(t, start);
    if (num > 1 && endpoint && !(std::isfinite(start) && std::isfinite(stop)))
      v = ops::select(ops::eq(t, ops::full_like(t, 1)), ops::full_like(t, stop), v);
    return ops::convert(is_integer(dtype) ? ops::floor(v) : v, dtype);
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
    Value row = ops::iota(b, DType::int64, shape, 0), column = ops::iota(b, DType::int64, shape, 1);
    // Beyond the corners there is no diagonal, so k can be clamped.
    const std::int64_t most = std::max(n, m.value_or(n));
    const auto by = static_cast<double>(std::clamp(k, -most, most));
    return ops::convert(ops::eq(ops::add(row, ops::full_like(row, by)), column), dtype);
  });
}

}  // namespace tessera::inline v0
