// Poisson and binomial counts, by loops that run until every element has its count.
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/distributions.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/random.h>
#include <tessera/reductions.h>
#include <tessera/special.h>

#include "api/random/draws.h"
#include "api/random/parameters.h"

#include <cmath>

namespace tessera::inline v0::random {

namespace {

// Each proposal is accepted with probability above 1/2, so an element without a count after this
// many iterations never gets one: its rate is infinite.
constexpr int kTurns = 2000;

struct Product {
  Array k, key, log_product;
};
// Multiplies uniform numbers until the product falls below exp(-rate).
Array poisson_by_product(const Array& key, const Array& rate) {
  const auto going = [&](const Product& p) { return any(p.log_product > -rate); };
  const auto turn = [&](const Product& p) {
    auto [next, now] = split(p.key);
    const Array u = uniform(now, rate.shape(), DType::float32);
    return Product{where(p.log_product > -rate, p.k + 1, p.k), next, p.log_product + log(u)};
  };
  const Array zero = zeros(rate.shape(), DType::float32);
  return while_loop(going, turn, Product{zero, key, zero}).k - 1;
}

struct Attempt {
  Array turn, k, accepted, key;
};
// Repeats until `attempt`, given the keys of two uniforms, has accepted a number for every element.
// It returns (number, accepted).
template <class F>
Array by_rejection(const Array& key, const Shape& shape, DType dtype, F&& attempt) {
  const auto going = [](const Attempt& a) {
    return any(logical_not(a.accepted)) && a.turn < kTurns;
  };
  const auto turn = [&](const Attempt& a) {
    const auto [next, u_key, v_key] = split<3>(a.key);
    const auto [k, accepted] =
        attempt(uniform(u_key, shape, dtype) - 0.5, uniform(v_key, shape, dtype));
    return Attempt{a.turn + 1, where(accepted, k, a.k), a.accepted || accepted, next};
  };
  const Attempt start{zeros({}, DType::int32), full(shape, -1.0, dtype),
                      zeros(shape, DType::boolean), key};
  return while_loop(going, turn, start).k;
}

Array poisson_by_rejection(const Array& key, const Array& rate) {
  const Array log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  const Array inv_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  return by_rejection(key, rate.shape(), rate.dtype(), [&](const Array& u, const Array& v) {
    const Array us = 0.5 - abs(u);
    const Array k = floor((2 * a / us + b) * u + rate + 0.43);
    const Array s = log(v * inv_alpha / (a / (us * us) + b));
    const Array likely = k * log_rate - rate - gammaln(k + 1);
    const Array inside = us >= 0.07 && v <= v_r;
    const Array outside = k < 0 || (us < 0.013 && v > us);
    return std::pair<Array, Array>(k, inside || (logical_not(outside) && s <= likely));
  });
}

struct Waits {
  Array k, sum, key;
};
// Adds geometric waiting times until their sum exceeds n.
Array binomial_by_waiting(const Array& key, const Array& n, const Array& p) {
  const Array log_miss = log1p(-p);
  const auto going = [&](const Waits& w) { return any(w.sum <= n); };
  const auto turn = [&](const Waits& w) {
    auto [now, next] = split(w.key);
    const Array wait = ceil(log(uniform(now, p.shape(), p.dtype())) / log_miss);
    return Waits{where(w.sum <= n, w.k + 1, w.k), w.sum + wait, next};
  };
  return while_loop(going, turn, Waits{zeros_like(p), zeros_like(p), key}).k - 1;
}

// log(k!) minus Stirling's formula at k + 1: a table for the first ten values, then the series.
Array stirling_tail(const Array& k) {
  static const std::vector<double>& first = *[] {
    auto* all = new std::vector<double>;
    for (int i = 0; i < 10; ++i)
      all->push_back(static_cast<double>(std::lgamma(i + 1.0L) -
                                         (0.5L * std::log(2 * 3.14159265358979323846L) +
                                          (i + 0.5L) * std::log(i + 1.0L) - (i + 1.0L))));
    return all;
  }();
  const Array inverse = 1 / square(k + 1);
  const Array series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 * inverse) * inverse) / (k + 1);
  const Array at = floor(clip(k, 0.0, 9.0)).astype(DType::int32);
  return where(k <= 9, take(Array(first).astype(k.dtype()), at), series);
}

Array binomial_by_rejection(const Array& key, const Array& n, const Array& p) {
  const Array deviation = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const Array a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5, v_r = 0.92 - 4.2 / b;
  const Array r = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation, m = floor((n + 1) * p);
  return by_rejection(key, p.shape(), p.dtype(), [&](const Array& u, const Array& drawn) {
    const Array us = 0.5 - abs(u);
    const Array k = floor((2 * a / us + b) * u + c);
    const Array v = log(drawn * alpha / (a / (us * us) + b));
    const Array most = (m + 0.5) * log((m + 1) / (r * (n - m + 1))) +
                       (n + 1) * log((n - m + 1) / (n - k + 1)) +
                       (k + 0.5) * log(r * (n - k + 1) / (k + 1)) + stirling_tail(m) +
                       stirling_tail(n - m) - stirling_tail(k) - stirling_tail(n - k);
    const Array inside = us >= 0.07 && drawn <= v_r, outside = k < 0 || k > n;
    return std::pair<Array, Array>(k, inside || (logical_not(outside) && v <= most));
  });
}

}  // namespace

Array poisson(Operand key, Operand lam, std::optional<Shape> shape, DType dtype) {
  const InFunction called("poisson", key.loc);
  check_key("poisson", key);
  check_count_dtype("poisson", dtype, key);
  const Shape s = shape_of_draw("poisson", key, {{"lam", lam}}, shape);
  const Array rate = broadcast_to(stop_gradient(astype(lam, DType::float32)), s);
  const Array small = isnan(rate) || rate < 10;
  const Array counts = where(small, poisson_by_product(key.array, where(small, rate, 0.0)),
                             poisson_by_rejection(key.array, where(small, 1e5, rate)));
  return where(rate == 0, 0.0, counts).astype(dtype);
}

Array binomial(Operand key, Operand n, Operand p, std::optional<Shape> shape, DType dtype) {
  const InFunction called("binomial", key.loc);
  check_key("binomial", key);
  check_float("binomial", dtype, key);
  const Shape s = shape_of_draw("binomial", key, {{"n", n}, {"p", p}}, shape);
  const DType work = p.array.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Array trials = broadcast_to(stop_gradient(astype(n, work)), s),
              chance = broadcast_to(stop_gradient(astype(p, work)), s);
  // Counts successes or failures, whichever is rarer.
  const Array rare = chance < 0.5, given = where(rare, chance, 1 - chance);
  const Array no_count = isnan(trials) || trials < 0, no_chance = isnan(given) || given < 0;
  const Array q = where(no_chance, 0.01, given), endless = isinf(trials), whole = floor(trials);
  const Array few = no_count || trials * q <= 10;
  const Array counts =
      where(few, binomial_by_waiting(key.array, where(few, whole, 0.0), q),
            binomial_by_rejection(key.array, where(few, 1e4, whole), where(few, 0.5, q)));
  const Array invalid = no_chance || no_count;
  const Array known = where(invalid, std::nan(""), where(endless, HUGE_VAL, counts));
  return where(rare || no_count || isnan(given) || endless, known, whole - known).astype(dtype);
}

}  // namespace tessera::inline v0::random
