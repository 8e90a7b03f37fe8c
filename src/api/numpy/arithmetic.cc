#include <tessera/arithmetic.h>

#include "api/numpy/array_helpers.h"
#include "api/trace/composite.h"
#include "api/trace/numbers.h"

#include <tessera/bits.h>
#include <tessera/control_flow.h>
#include <tessera/operators.h>

#include <cmath>
#include <numbers>

namespace tessera::inline v0 {

using detail::both_in_floats;
using detail::composed;
using detail::composed1;

namespace {
using In = std::span<const Array>;

// The integer dtype with the width of a float dtype.
DType bits_of(DType d) {
  return size_of(d) == 8 ? DType::int64 : size_of(d) == 4 ? DType::int32 : DType::int16;
}
Array sign_of(const Array& x) {
  if (is_floating(x.dtype())) return less(bitcast_convert_type(x, bits_of(x.dtype())), 0);
  return is_signed_integer(x.dtype()) ? less(x, 0) : not_equal(x, x);
}
}  // namespace

Array asarray(Operand x, std::optional<DType> dtype) {
  const InFunction called("asarray", x.loc);
  detail::need(x.array, "asarray", x.loc);
  return dtype && x.array.dtype() != *dtype ? array(x, dtype) : x.array;
}

Array around(Operand x, int decimals) {
  return composed1("around", {x.array}, x.loc, [&](In in) {
    const DType d = in[0].dtype();
    if (!is_inexact(d) && decimals < 0)
      Message("around")
          .problem(std::to_string(decimals) + " decimals of an array of dtype " +
                   std::string(name_of(d)))
          .rule("integers are rounded to places behind the point, which changes nothing")
          .from(x.loc)
          .advice("convert with astype(ts::f64)")
          .raise<DTypeError>();
    if (!is_inexact(d)) return in[0];
    if (is_complex(d)) return complex(around(real(in[0]), decimals), around(imag(in[0]), decimals));
    if (decimals == 0) return round(in[0]);
    const Array wide = size_of(d) == 2 ? astype(in[0], DType::float32) : in[0];
    const double factor = std::pow(10.0, decimals);
    const Array r = divide(round(multiply(wide, factor)), factor);
    return size_of(d) == 2 ? astype(r, d) : r;
  });
}

Array mod(Operand x, Operand y) {
  const InFunction called("mod", x.loc);
  return remainder(std::move(x), std::move(y));
}
Array bitwise_and(Operand x, Operand y) {
  const InFunction called("bitwise_and", x.loc);
  return std::move(x) & std::move(y);
}
Array bitwise_or(Operand x, Operand y) {
  const InFunction called("bitwise_or", x.loc);
  return std::move(x) | std::move(y);
}
Array bitwise_xor(Operand x, Operand y) {
  const InFunction called("bitwise_xor", x.loc);
  return std::move(x) ^ std::move(y);
}

Array fabs(Operand x) {
  return composed1("fabs", {x.array}, x.loc, [&](In in) {
    detail::need_real("fabs", in[0], x.loc);
    return abs(detail::in_floats(in[0]));
  });
}
Array signbit(Operand x) {
  return composed1("signbit", {x.array}, x.loc, [&](In in) {
    detail::need_real("signbit", in[0], x.loc);
    return sign_of(in[0].weak_type() ? array(in[0]) : in[0]);
  });
}
Array copysign(Operand x, Operand y) {
  return composed1("copysign", {x.array, y.array}, x.loc, [&](In in) {
    detail::need_real("copysign", in[0], x.loc);
    detail::need_real("copysign", in[1], x.loc);
    // A weak number has no sign bit yet; convert it to the other operand's dtype, or its own
    // default.
    const bool weak =
        promote(in[0].dtype(), in[0].weak_type(), in[1].dtype(), in[1].weak_type()).weak;
    auto [a, b] = both_in_floats(weak ? array(in[0]) : in[0], in[1]);
    return where(not_equal(sign_of(a), sign_of(b)), negative(a), a);
  });
}
Array float_power(Operand x, Operand y) {
  return composed1("float_power", {x.array, y.array}, x.loc, [&](In in) {
    auto [a, b] = both_in_floats(in[0], in[1]);
    return power(a, b);
  });
}
Array fmax(Operand x, Operand y) {
  return composed1("fmax", {x.array, y.array}, x.loc, [&](In in) {
    detail::need_real("fmax", in[0], x.loc);
    return where(greater(in[0], in[1]) | isnan(in[1]), in[0], in[1]);
  });
}
Array fmin(Operand x, Operand y) {
  return composed1("fmin", {x.array, y.array}, x.loc, [&](In in) {
    detail::need_real("fmin", in[0], x.loc);
    return where(less(in[0], in[1]) | isnan(in[1]), in[0], in[1]);
  });
}
Array fmod(Operand x, Operand y) {
  detail::check_all_fit("fmod", {&x, &y});
  return detail::composite1(
      "fmod", {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
        Value a = in[0], b = in[1];
        detail::promote_and_broadcast(a, b, "fmod");
        if (a.dtype() == DType::boolean) {
          a = ops::convert(a, DType::int32);
          b = ops::convert(b, DType::int32);
        }
        if (is_inexact(a.dtype())) return ops::rem(a, b);
        const Value zero = ops::zeros_like(b), none = ops::eq(b, zero);
        return ops::select(none, zero, ops::rem(a, ops::select(none, ops::full_like(b, 1), b)));
      });
}
DivMod divmod(Operand x, Operand y) {
  const std::vector<Array> r = composed("divmod", {x.array, y.array}, x.loc, [&](In in) {
    return std::vector<Array>{floor_divide(in[0], in[1]), remainder(in[0], in[1])};
  });
  return {r[0], r[1]};
}
Array heaviside(Operand x, Operand y) {
  return composed1("heaviside", {x.array, y.array}, x.loc, [&](In in) {
    detail::need_real("heaviside", in[0], x.loc);
    detail::need_real("heaviside", in[1], x.loc);
    auto [a, b] = both_in_floats(in[0], in[1]);
    return where(less(a, 0), zeros_like(a),
                 where(greater(a, 0), ones_like(a), where(isnan(a), a, b)));
  });
}

namespace {
// 2 ** e for exponents of normal numbers, built from its bits.
Array power_of_two(const Array& e, DType d) {
  const bool wide = d == DType::float64;
  const Array biased = add(astype(e, wide ? DType::int64 : DType::int32), wide ? 1023 : 127);
  return bitcast_convert_type(biased << (wide ? 52 : 23), d);
}
}  // namespace

Array ldexp(Operand x, Operand exponent) {
  return composed1("ldexp", {x.array, exponent.array}, x.loc, [&](In in) {
    detail::need_real("ldexp", in[0], x.loc);
    detail::need_integer("ldexp", in[1], x.loc);
    const Array given = detail::in_floats(array(in[0]));
    const DType d = given.dtype(), wide = size_of(d) == 2 ? DType::float32 : d;
    const int most = wide == DType::float64 ? 1023 : 127, least = 1 - most;
    Array r = astype(given, wide);
    // Multiply in three steps by normal powers of two: only the last step that changes r rounds.
    Array left = clip(astype(in[1], DType::int32), 3 * least, 3 * most);
    for (int k = 0; k < 3; ++k) {
      const Array step = clip(left, least, most);
      r = multiply(r, power_of_two(step, wide));
      left = subtract(left, step);
    }
    return astype(r, d);
  });
}

namespace {
struct Pair {
  Array a, b;
};
// Euclid's algorithm on all elements at once.
Array gcd_of(const Array& x, const Array& y) {
  return while_loop([](const Pair& p) { return any(not_equal(p.b, 0)); },
                    [](const Pair& p) {
                      const Array done = equal(p.b, 0);
                      const Array divisor = where(done, ones_like(p.b), p.b);
                      return Pair{where(done, p.a, p.b), where(done, p.b, remainder(p.a, divisor))};
                    },
                    Pair{abs(x), abs(y)})
      .a;
}
std::vector<Array> integers(const char* name, In in, const SourceLoc& loc) {
  for (const Array& x : in) detail::need_integer(name, x, loc);
  std::vector<Array> both = detail::promoted({in[0], in[1]});
  const Shape s = broadcast_shapes(in[0].shape(), in[1].shape(), name, loc);
  for (Array& x : both) {
    detail::need_integer(name, x, loc);  // int64 and uint64 promote to a float
    x = broadcast_to(x.dtype() == DType::boolean ? astype(x, DType::int32) : array(x), s);
  }
  return both;
}
}  // namespace

Array gcd(Operand x, Operand y) {
  return composed1("gcd", {x.array, y.array}, x.loc, [&](In in) {
    const std::vector<Array> both = integers("gcd", in, x.loc);
    return gcd_of(both[0], both[1]);
  });
}
Array lcm(Operand x, Operand y) {
  return composed1("lcm", {x.array, y.array}, x.loc, [&](In in) {
    const std::vector<Array> both = integers("lcm", in, x.loc);
    const Array d = gcd_of(both[0], both[1]);
    const Array divisor = where(equal(d, 0), ones_like(d), d);
    return multiply(abs(both[0]), floor_divide(abs(both[1]), divisor));
  });
}

Array deg2rad(Operand x) {
  return composed1("deg2rad", {x.array}, x.loc, [&](In in) {
    return multiply(detail::in_floats(in[0]), std::numbers::pi / 180);
  });
}
Array rad2deg(Operand x) {
  return composed1("rad2deg", {x.array}, x.loc, [&](In in) {
    return multiply(detail::in_floats(in[0]), 180 / std::numbers::pi);
  });
}

Array sinc(Operand x) {
  return composed1("sinc", {x.array}, x.loc, [&](In in) {
    const Array y = multiply(detail::in_floats(in[0]), std::numbers::pi), square = multiply(y, y);
    // Near zero, use the power series (DLMF 4.19.1), so that all derivatives are those of sinc.
    const Array near = less(abs(y), 0.5);
    Array series = zeros_like(square);
    double coefficient = 1;
    std::vector<double> terms;
    for (int k = 0; k < 9; ++k) {
      terms.push_back(coefficient);
      coefficient /= -(2.0 * k + 2) * (2.0 * k + 3);
    }
    const Array inside = where(near, square, zeros_like(square));
    for (std::size_t k = terms.size(); k-- > 0;) series = add(multiply(series, inside), terms[k]);
    // Elsewhere, the distance to the nearest integer is exact, and its product with pi is rounded
    // once.
    const Array v = detail::in_floats(in[0]), outside = where(near, ones_like(v), v);
    const Array nearest = round(outside), sine = sin((outside - nearest) * std::numbers::pi);
    const Array odd = not_equal(remainder(nearest, 2), 0);
    return where(near, series, where(odd, -sine, sine) / std::numbers::pi / outside);
  });
}

Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices,
             Operand otherwise) {
  const InFunction called("select", otherwise.loc);
  if (conditions.size() != choices.size() || choices.empty())
    Message("select")
        .problem(detail::counted(conditions.size(), "condition") + " and " +
                 detail::counted(choices.size(), "choice"))
        .rule("one or more, and a choice for each condition")
        .from(otherwise.loc)
        .advice("what remains is the last argument")
        .raise<ShapeError>();
  std::vector<Array> all = conditions;
  all.insert(all.end(), choices.begin(), choices.end());
  all.push_back(otherwise.array);
  return composed1("select", all, otherwise.loc, [&](In in) {
    const std::size_t n = conditions.size();
    const std::vector<Array> values = detail::promoted({in.begin() + n, in.end()});
    Array r = values[n];
    for (std::size_t k = n; k-- > 0;) r = where(in[k], values[k], r);
    return r;
  });
}

}  // namespace tessera::inline v0
