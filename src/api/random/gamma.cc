// Gamma draws and the distributions derived from them. Each element has its own key and a loop that
// ends when a proposal is accepted; mapped over elements, all loops run until the last one has
// ended.
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/custom.h>
#include <tessera/distributions.h>
#include <tessera/elementwise.h>
#include <tessera/limits.h>
#include <tessera/manipulation.h>
#include <tessera/random.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

#include "api/random/draws.h"
#include "api/random/gamma_derivative.h"
#include "api/random/parameters.h"

namespace tessera::inline v0::random {

namespace {

struct Proposal {
  Array key, square, cube, u;
};
struct Cube {
  Array key, x, v;
};

// One draw from gamma(a), or its logarithm. For a < 1 it is a draw from gamma(a + 1) times u^(1/a).
Array gamma_one(const Array& key, const Array& a, bool in_logarithms) {
  const DType dtype = a.dtype();
  const Array whole = a >= 1;
  const Array d = where(whole, a, a + 1) - 1.0 / 3;
  const Array c = (1.0 / 3) / sqrt(d);
  const Array zero = zeros_like(a), one = ones_like(a);
  auto [next, boost_key] = split(key);
  const auto rejected = [&](const Proposal& p) {
    return (p.u >= 1 - square(p.square) * 0.0331) &&
           (log(p.u) >= p.square * 0.5 + d * (1 - p.cube + log(p.cube)));
  };
  const auto propose = [&](const Proposal& p) {
    const auto [again, x_key, u_key] = split<3>(p.key);
    const Cube found = while_loop([](const Cube& w) { return w.v <= 0; },
                                  [&](const Cube& w) {
                                    auto [following, now] = split(w.key);
                                    const Array x = normal(now, {}, dtype);
                                    return Cube{following, x, 1 + x * c};
                                  },
                                  Cube{x_key, zero, -one});
    return Proposal{again, found.x * found.x, found.v * found.v * found.v,
                    uniform(u_key, {}, dtype)};
  };
  const Array v = while_loop(rejected, propose, Proposal{next, zero, one, one * 2}).cube;
  if (!in_logarithms) {
    const Array u = 1 - uniform(boost_key, {}, dtype);
    return d * v * where(whole, one, power(u, 1 / a));
  }
  const Array log_u = negative(exponential(boost_key, {}, dtype));
  return log(d) + log(v) + where(whole || log_u == 0, zero, log_u * (1 / a));
}

Array draw_all(const Array& key, const Array& a, bool in_logarithms) {
  const std::int64_t n = a.size();
  if (n == 0) return a;
  const Array keys = random::split(Operand(key), n);
  return vmap([&](Array k, Array one) { return gamma_one(k, one, in_logarithms); })(
             keys, a.reshape(Shape{n}))
      .reshape(a.shape());
}

// Draws for parameters in the dtype and shape of the result, with their derivative.
Array gamma_of(const Array& key, const Array& a, bool in_logarithms) {
  const auto draw = [in_logarithms](Array k, Array p) { return draw_all(k, p, in_logarithms); };
  const auto rule = [draw, in_logarithms](Array k, Array p, Array, Array tangent) {
    const Array x = draw(k, p);
    const Array wide = p.astype(DType::float64), drawn = x.astype(DType::float64);
    const Array log_x = in_logarithms ? drawn : log(maximum(drawn, 1e-300));
    const Array relative = log_gamma_derivative(wide, log_x);
    // The derivative of the logarithm may overflow for a tiny parameter. If it were infinite, its
    // product with a draw that has underflowed to 0 would be NaN.
    const Array most = full({}, finfo(x.dtype()).max, DType::float64);
    const Array slope = in_logarithms ? minimum(relative, most) : relative * drawn;
    return std::pair<Array, Array>(x, slope.astype(x.dtype()) * tangent);
  };
  return custom_jvp(draw, rule)(key, a);
}

// Converts a parameter to the dtype and shape of the result.
Array filled_like(const Operand& p, const Shape& shape, DType dtype) {
  return broadcast_to(Operand(astype(p, dtype), p.loc), shape);
}

// The shape of a draw, after the checks that all distributions make.
Shape checked(const char* name, const Operand& key, std::initializer_list<Parameter> parameters,
              std::optional<Shape> shape, DType dtype) {
  check_key(name, key);
  check_float(name, dtype, key);
  return shape_of_draw(name, key, parameters, shape);
}

Array chisquare_of(const Array& key, const Array& df) {
  return exp(gamma_of(key, df / 2, true)) * 2;
}

Array generalized_normal_of(const Array& key, double p, const Shape& shape, DType dtype) {
  auto [g_key, sign_key] = split(key);
  const Array g = gamma_of(g_key, filled_like(1 / p, shape, dtype), false);
  return rademacher(sign_key, shape, dtype) * power(g, 1 / p);
}

}  // namespace

Array gamma(Operand key, Operand a, std::optional<Shape> shape, DType dtype) {
  const InFunction called("gamma", key.loc);
  const Shape s = checked("gamma", key, {{"a", a}}, shape, dtype);
  return gamma_of(key.array, filled_like(a, s, dtype), false);
}

Array loggamma(Operand key, Operand a, std::optional<Shape> shape, DType dtype) {
  const InFunction called("loggamma", key.loc);
  const Shape s = checked("loggamma", key, {{"a", a}}, shape, dtype);
  return gamma_of(key.array, filled_like(a, s, dtype), true);
}

Array beta(Operand key, Operand a, Operand b, std::optional<Shape> shape, DType dtype) {
  const InFunction called("beta", key.loc);
  const Shape s = checked("beta", key, {{"a", a}, {"b", b}}, shape, dtype);
  auto [a_key, b_key] = split(key);
  const Array x = gamma_of(a_key, filled_like(a, s, dtype), true),
              y = gamma_of(b_key, filled_like(b, s, dtype), true);
  // Divide both by the larger one, since either may underflow.
  const Array most = maximum(x, y), p = exp(x - most);
  return p / (p + exp(y - most));
}

Array chisquare(Operand key, Operand df, std::optional<Shape> shape, DType dtype) {
  const InFunction called("chisquare", key.loc);
  const Shape s = checked("chisquare", key, {{"df", df}}, shape, dtype);
  return chisquare_of(key.array, filled_like(df, s, dtype));
}

Array dirichlet(Operand key, Operand alpha, std::optional<Shape> shape, DType dtype) {
  const InFunction called("dirichlet", key.loc);
  const Shape own = checked("dirichlet", key, {{"alpha", alpha}}, {}, dtype);
  if (own.rank() == 0)
    Message("dirichlet")
        .problem("alpha is " + describe(alpha.array))
        .rule("its last axis has one parameter for each probability")
        .from(key.loc)
        .advice("ts::array({1.0, 1.0, 1.0})")
        .raise<ShapeError>();
  Shape whole = own;
  if (shape) {
    whole = *shape;
    whole.push_back(own[own.size() - 1]);
    shape_of_draw("dirichlet", key, {{"alpha", alpha}}, whole);
  }
  const Array x = gamma_of(key.array, filled_like(alpha, whole, dtype), true);
  const Array e = exp(x - stop_gradient(max(x, -1, true)));
  return e / sum(e, -1, true);
}

Array f(Operand key, Operand dfnum, Operand dfden, std::optional<Shape> shape, DType dtype) {
  const InFunction called("f", key.loc);
  const Shape s = checked("f", key, {{"dfnum", dfnum}, {"dfden", dfden}}, shape, dtype);
  const Array n = filled_like(dfnum, s, dtype), m = filled_like(dfden, s, dtype);
  auto [den_key, num_key] = split(key);
  // Subtract logarithms: with few degrees of freedom both draws may underflow.
  const Array above = gamma_of(num_key, n / 2, true) - log(n / 2),
              below = gamma_of(den_key, m / 2, true) - log(m / 2);
  return exp(above - below);
}

Array t(Operand key, Operand df, std::optional<Shape> shape, DType dtype) {
  const InFunction called("t", key.loc);
  const Shape s = checked("t", key, {{"df", df}}, shape, dtype);
  const Array half = filled_like(df, s, dtype) / 2;
  auto [n_key, g_key] = split(key);
  // Use the logarithm: with few degrees of freedom the gamma draw may underflow where its root does
  // not.
  return normal(n_key, s, dtype) * (sqrt(half) * exp(gamma_of(g_key, half, true) * -0.5));
}

Array generalized_normal(Operand key, double p, const Shape& shape, DType dtype) {
  const InFunction called("generalized_normal", key.loc);
  checked("generalized_normal", key, {}, shape, dtype);
  check_positive("generalized_normal", "p", p, key);
  return generalized_normal_of(key.array, p, shape, dtype);
}

Array ball(Operand key, std::int64_t d, double p, const Shape& shape, DType dtype) {
  const InFunction called("ball", key.loc);
  checked("ball", key, {}, shape, dtype);
  check_positive("ball", "p", p, key);
  if (d < 1)
    Message("ball")
        .problem(std::to_string(d) + " dimensions")
        .rule("points have at least one coordinate")
        .from(key.loc)
        .advice("pass the number of coordinates second: ball(key, 3)")
        .raise<ShapeError>();
  Shape whole = shape;
  whole.push_back(d);
  auto [g_key, e_key] = split(key);
  const Array g = generalized_normal_of(g_key, p, whole, dtype);
  const Array e = exponential(e_key, shape, dtype);
  return g / expand_dims(power(sum(power(abs(g), p), -1) + e, 1 / p), -1);
}

}  // namespace tessera::inline v0::random
