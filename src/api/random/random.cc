#include <tessera/random.h>

#include "api/numpy/indexing.h"
#include "api/random/draws.h"
#include "api/trace/numbers.h"
#include "base/float_format.h"

#include <cmath>

namespace tessera::inline v0::random {

using detail::composite1;

Value uniform_value(Value key, const Shape& shape, DType dtype, Value lo, Value hi) {
  lo = detail::broadcast_to(ops::convert(lo, dtype), shape);
  hi = detail::broadcast_to(ops::convert(hi, dtype), shape);
  Value u = unit(key, shape, dtype);
  // Rounding may take the sum below `lo`.
  return ops::max(lo, ops::add(ops::mul(u, ops::sub(hi, lo)), lo));
}

Value uniform_between(Value key, const Shape& shape, DType dtype, double lo, double hi) {
  Builder& b = *key.builder;
  return uniform_value(key, shape, dtype, ops::scalar(b, dtype, lo), ops::scalar(b, dtype, hi));
}

double tiny(DType d) { return std::ldexp(1.0, float_format(d).least_exponent); }

Value normal_value(Value key, const Shape& shape, DType dtype) {
  const double above_minus_one = -1 + std::ldexp(1.0, -float_format(dtype).significand_bits);
  Value u = uniform_between(key, shape, dtype, above_minus_one, 1.0);
  return ops::mul(ops::full_like(u, std::sqrt(2.0)), ops::erf_inv(u));
}

Value exponential_value(Value key, const Shape& shape, DType dtype) {
  return ops::neg(ops::log1p(ops::neg(unit(key, shape, dtype))));
}

void check_float(const char* name, DType d, const Operand& key) {
  if (is_floating(d)) return;
  Message(name)
      .problem("the dtype is " + std::string(name_of(d)))
      .rule("the distribution is continuous: float16, bfloat16, float32 or float64")
      .from(key.loc)
      .advice("use randint for integers")
      .raise<DTypeError>();
}

namespace {

Value gumbel_value(Value key, const Shape& shape, DType dtype) {
  Value u = uniform_between(key, shape, dtype, tiny(dtype), 1.0);
  return ops::neg(ops::log(ops::neg(ops::log(u))));
}

// Repeats stable sorts by fresh random words until ties are improbable.
Value shuffle(Value key, Value x) {
  std::int64_t n = x.shape()[0];
  int rounds = static_cast<int>(std::ceil(
      3 * std::log(std::max<double>(1, static_cast<double>(n))) / std::log(4294967295.0)));
  for (int i = 0; i < rounds; ++i) {
    Values k = split_value(key, 2);
    key = k[0];
    Value both[] = {bits_value(k[1], Shape{n}, DType::uint32), x};
    x = ops::sort(both, 0)[1];
  }
  return x;
}

Value indices(Builder& b, std::int64_t n) {
  return ops::iota(b, detail::index_dtype(n), Shape{n}, 0);
}

Value randint_value(Value key, const Shape& shape, Value lo, Value hi, DType dtype) {
  DType work =
      size_of(dtype) < 4 ? (is_unsigned_integer(dtype) ? DType::uint32 : DType::int32) : dtype;
  DType raw = size_of(work) == 8 ? DType::uint64 : DType::uint32;
  Values k = split_value(key, 2);
  Value high = bits_value(k[0], shape, raw), low = bits_value(k[1], shape, raw);
  lo = detail::broadcast_to(ops::convert(lo, work), shape);
  hi = detail::broadcast_to(ops::convert(hi, work), shape);
  Value span = ops::convert(ops::sub(hi, lo), raw);
  span = ops::select(ops::le(hi, lo), ops::full_like(span, 1), span);
  // 2^bits mod span, computed as the square of 2^(bits/2) mod span.
  Value m = ops::rem(ops::full_like(span, raw == DType::uint64 ? 4294967296.0 : 65536.0), span);
  Value multiplier = ops::rem(ops::mul(m, m), span);
  Value offset = ops::add(ops::mul(ops::rem(high, span), multiplier), ops::rem(low, span));
  offset = ops::rem(offset, span);
  return ops::convert(ops::add(lo, ops::convert(offset, work)), dtype);
}

}  // namespace

Array uniform(Operand key, const Shape& shape, DType dtype, Operand minval, Operand maxval) {
  const InFunction called("uniform", key.loc);
  check_key("uniform", key);
  check_float("uniform", dtype, key);
  return composite1("uniform", {key.array, minval.array, maxval.array}, key.loc,
                    [&](Builder&, std::span<const Value> in) {
                      return uniform_value(in[0], shape, dtype, in[1], in[2]);
                    });
}

Array normal(Operand key, const Shape& shape, DType dtype) {
  check_key("normal", key);
  check_float("normal", dtype, key);
  return composite1("normal", {key.array}, key.loc, [&](Builder&, std::span<const Value> in) {
    return normal_value(in[0], shape, dtype);
  });
}

namespace {

// Checks bounds that are bare numbers; values of arrays are only known when the program runs.
void check_bounds(const Operand& minval, const Operand& maxval, DType dtype) {
  const detail::ArrayImpl &lo = detail::need(minval.array, "randint", minval.loc),
                          &hi = detail::need(maxval.array, "randint", maxval.loc);
  Message m("randint");
  m.from(minval.loc);
  if (!is_integer(lo.type.dtype) || !is_integer(hi.type.dtype))
    m.problem("the bounds are " + detail::visible_text(lo.type) + " and " +
              detail::visible_text(hi.type))
        .rule("the bounds of integers are integers")
        .advice("use uniform for floats")
        .raise<DTypeError>();
  if (!lo.is_number || !hi.is_number) return;
  __extension__ using Wide = __int128;
  const auto value = [](const detail::ArrayImpl& a) {
    return a.type.dtype == DType::uint64 ? Wide(a.unsigned_integer) : Wide(a.integer);
  };
  const bool is_signed = !is_unsigned_integer(dtype);
  const int bits = static_cast<int>(8 * size_of(dtype));
  const Wide least = is_signed ? -(Wide(1) << (bits - 1)) : 0;
  const Wide most = (Wide(1) << (is_signed ? bits - 1 : bits)) - 1;
  // Narrow types are drawn in 32 bits, so the bound may be one beyond their largest value.
  const Wide highest = bits < 32 ? most + 1 : most;
  const std::string bounds = "[" + detail::number_text(lo) + ", " + detail::number_text(hi) + ")";
  if (value(lo) < least || value(hi) > highest) {
    const detail::Limits range = detail::limits_of(dtype);
    m.problem("integers in " + bounds + " do not fit " + std::string(name_of(dtype)))
        .rule(std::string(name_of(dtype)) + " holds " + range.least + " to " + range.most)
        .advice("pass a wider dtype, such as ts::i64")
        .raise<ShapeError>();
  }
  if (value(lo) >= value(hi))
    m.problem("there is no integer in " + bounds)
        .rule("the lower bound is drawn, the upper one is not: minval < maxval")
        .advice("maxval is one more than the largest integer wanted")
        .raise<ShapeError>();
}

}  // namespace

Array randint(Operand key, const Shape& shape, Operand minval, Operand maxval, DType dtype) {
  const InFunction called("randint", key.loc);
  check_key("randint", key);
  if (!is_integer(dtype))
    Message("randint")
        .problem("the dtype is " + std::string(name_of(dtype)))
        .rule("random integers have an integer dtype")
        .from(key.loc)
        .advice("use uniform for floats")
        .raise<DTypeError>();
  check_bounds(minval, maxval, dtype);
  return composite1("randint", {key.array, minval.array, maxval.array}, key.loc,
                    [&](Builder&, std::span<const Value> in) {
                      return randint_value(in[0], shape, in[1], in[2], dtype);
                    });
}

Array permutation(Operand key, std::int64_t n) {
  const InFunction called("permutation", key.loc);
  check_key("permutation", key);
  return composite1(
      "permutation", {key.array}, key.loc,
      [&](Builder& b, std::span<const Value> in) { return shuffle(in[0], indices(b, n)); });
}

Array permutation(Operand key, Operand x, std::int64_t axis) {
  check_key("permutation", key);
  return composite1(
      "permutation", {key.array, x.array}, key.loc, [&](Builder& b, std::span<const Value> in) {
        int a = normalize_axis(axis, in[1].rank(), "permutation", x.loc);
        if (in[1].rank() == 1) return shuffle(in[0], in[1]);
        Value order = shuffle(in[0], indices(b, in[1].shape()[static_cast<std::size_t>(a)]));
        return detail::take_axis(in[1], order, a, "clip");
      });
}

Array bernoulli(Operand key, Operand p, std::optional<Shape> shape) {
  const InFunction called("bernoulli", key.loc);
  check_key("bernoulli", key);
  return composite1("bernoulli", {key.array, p.array}, key.loc,
                    [&](Builder&, std::span<const Value> in) {
                      Value prob = detail::to_visible_inexact(in[1]);
                      Shape s = shape.value_or(prob.shape());
                      Value u = uniform_between(in[0], s, prob.dtype(), 0, 1);
                      return ops::lt(u, detail::broadcast_to(prob, s));
                    });
}

Array gumbel(Operand key, const Shape& shape, DType dtype) {
  check_key("gumbel", key);
  check_float("gumbel", dtype, key);
  return composite1("gumbel", {key.array}, key.loc, [&](Builder&, std::span<const Value> in) {
    return gumbel_value(in[0], shape, dtype);
  });
}

Array categorical(Operand key, Operand logits, std::int64_t axis) {
  const InFunction called("categorical", key.loc);
  check_key("categorical", key);
  return composite1("categorical", {key.array, logits.array}, key.loc,
                    [&](Builder&, std::span<const Value> in) {
                      Value l = detail::to_visible_inexact(in[1]);
                      int a = normalize_axis(axis, l.rank(), "categorical", logits.loc);
                      Value g = gumbel_value(in[0], l.shape(), l.dtype());
                      return ops::argmax(ops::add(g, l), a);
                    });
}

Array truncated_normal(Operand key, Operand lower, Operand upper, const Shape& shape, DType dtype) {
  const InFunction called("truncated_normal", key.loc);
  check_key("truncated_normal", key);
  check_float("truncated_normal", dtype, key);
  if (lower.array.impl() && upper.array.impl() && lower.array.impl()->is_number &&
      upper.array.impl()->is_number && !(lower.array.item<double>() < upper.array.item<double>()))
    Message("truncated_normal")
        .problem("there is no number between " + to_string(lower.array) + " and " +
                 to_string(upper.array))
        .rule("the lower bound is less than the upper one")
        .from(key.loc)
        .advice("truncated_normal(key, -2, 2, shape)")
        .raise<ShapeError>();
  return composite1(
      "truncated_normal", {key.array, lower.array, upper.array}, key.loc,
      [&](Builder&, std::span<const Value> in) {
        Value a = detail::broadcast_to(ops::convert(in[1], dtype), shape),
              b = detail::broadcast_to(ops::convert(in[2], dtype), shape);
        Value root = ops::full_like(a, std::sqrt(2.0));
        Value u = uniform_value(in[0], shape, dtype, ops::erf(ops::div(a, root)),
                                ops::erf(ops::div(b, root)));
        Value x = ops::mul(root, ops::erf_inv(u));
        // Clip to the numbers strictly between the bounds. Incrementing the bit pattern of a float
        // moves it away from zero for either sign.
        DType raw = size_of(dtype) == 8   ? DType::int64
                    : size_of(dtype) == 4 ? DType::int32
                                          : DType::int16;
        auto next = [&](Value v, bool up) {
          Value i = ops::bitcast_convert(v, raw), one = ops::full_like(i, 1),
                zero = ops::zeros_like(v);
          Value away = ops::bitcast_convert(ops::add(i, one), dtype),
                back = ops::bitcast_convert(ops::sub(i, one), dtype);
          Value smallest = ops::bitcast_convert(one, dtype);
          Value stepped = up ? ops::select(ops::gt(v, zero), away, back)
                             : ops::select(ops::gt(v, zero), back, away);
          return ops::select(ops::eq(v, zero), up ? smallest : ops::neg(smallest), stepped);
        };
        return ops::clamp(next(ops::stop_gradient(a), true), x, next(ops::stop_gradient(b), false));
      });
}

Array exponential(Operand key, const Shape& shape, DType dtype) {
  check_key("exponential", key);
  check_float("exponential", dtype, key);
  return composite1("exponential", {key.array}, key.loc, [&](Builder&, std::span<const Value> in) {
    return exponential_value(in[0], shape, dtype);
  });
}

Array choice(Operand key, std::int64_t n, const Shape& shape, bool replace, const Array& p) {
  const InFunction called("choice", key.loc);
  check_key("choice", key);
  std::int64_t draws = shape.count();
  if (n < 1 || (!replace && draws > n))
    Message("choice")
        .problem(std::to_string(draws) + " draws from " + std::to_string(n) + " things" +
                 (n < 1 ? "" : " without replacement"))
        .rule(n < 1 ? "there is at least one thing to draw"
                    : "without replacement there are at most as many draws as things")
        .from(key.loc)
        .advice(n < 1 ? "pass the number of things as n, or an array that has entries along axis 0"
                      : "draw fewer, or pass replace = true")
        .raise<ShapeError>();
  if (p.is_empty()) {
    if (replace) return randint(key, shape, 0, n, detail::index_dtype(n));
    return composite1("choice", {key.array}, key.loc, [&](Builder& b, std::span<const Value> in) {
      return ops::reshape(ops::slice(shuffle(in[0], indices(b, n)), {0}, {draws}, {1}), shape);
    });
  }
  return composite1("choice", {key.array, p}, key.loc, [&](Builder& b, std::span<const Value> in) {
    Value prob = detail::to_visible_inexact(in[1]);
    if (!(prob.shape() == Shape{n}))
      Message("choice")
          .problem("probabilities of shape " + to_string(prob.shape()) + " for " +
                   std::to_string(n) + " things")
          .rule("one probability each")
          .from(key.loc)
          .advice("pass p of shape " + to_string(Shape{n}))
          .raise<ShapeError>();
    if (replace) {
      // The first index whose cumulative probability reaches the draw.
      Value c = ops::cumsum(prob, 0);
      Value total = ops::slice(c, {n - 1}, {n}, {1});
      Value u = unit(in[0], Shape{draws}, prob.dtype());
      Value r = ops::mul(ops::broadcast_in_dim(total, Shape{draws}, {0}),
                         ops::sub(ops::full_like(u, 1), u));
      Shape grid{draws, n};
      Value below =
          ops::lt(ops::broadcast_in_dim(c, grid, {1}), ops::broadcast_in_dim(r, grid, {0}));
      return ops::reshape(ops::reduce_sum(ops::convert(below, detail::index_dtype(n)), {1}), shape);
    }
    // Draws without replacement: the Gumbel top-k.
    Value g = ops::add(gumbel_value(in[0], Shape{n}, prob.dtype()), ops::log(prob));
    Value both[] = {ops::neg(g), indices(b, n)};
    return ops::reshape(ops::slice(ops::sort(both, 0)[1], {0}, {draws}, {1}), shape);
  });
}

Array choice(Operand key, Operand x, const Shape& shape, bool replace, const Array& p) {
  const InFunction called("choice", key.loc);
  Array at = choice(key, x.array.length(), shape, replace, p);
  return composite1("choice", {x.array, at}, key.loc, [&](Builder&, std::span<const Value> in) {
    return detail::take_axis(in[0], in[1], 0, "clip");
  });
}

}  // namespace tessera::inline v0::random
