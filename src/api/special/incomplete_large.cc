#include "api/special/incomplete_large.h"

#include "api/special/double_double.h"
#include "api/special/gauss_nodes.h"

#include <cmath>
#include <numbers>

namespace tessera::inline v0::detail {

namespace {

// The logarithm of a gamma variable, or of the odds of a beta variable, has the density height
// exp(-phi(y)) at distance y from its mode, with phi(y) = y^2 / (2 width^2) (1 + y / 3 ratios[0] +
// y^2 / 12 ratios[1] + ...); the ratios are the derivatives of phi at 0 divided by the second. For
// large parameters both are close to normal, and the part below or above a point is an integral
// over a few widths.
struct Bell {
  Array width;
  Array height;               // multiplied by the width
  std::vector<Array> ratios;  // of the derivatives, from the third on
};

// The first term 1 / 12 x of Stirling's series (DLMF 5.11.1); the next one is below 2^-68 here.
Array stirling(const Array& x) { return 1 / (12 * x); }

Bell gamma_bell(const Array& a) {
  return {1 / sqrt(a), exp(-stirling(a)) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2),
          std::vector<Array>(7, ones_like(a))};
}
// phi is a + b times the cumulant generating function of a Bernoulli variable with probability a /
// (a + b), without its first term; its cumulants are polynomials in v = ab / (a + b)^2.
Bell beta_bell(const Array& a, const Array& b) {
  const Array least = minimum(a, b), most = maximum(a, b), ratio = least / most;
  const Array odds = 1 + ratio, v = ratio / (odds * odds);
  const Array skew = where(a < b, 1.0, -1.0) * ((1 - ratio) / odds);
  const auto cumulant = [&](std::initializer_list<double> c) {
    return series(v, std::span<const double>(c.begin(), c.size()));
  };
  const Array rest = stirling(a) + stirling(b) - stirling(most) / odds;
  return {sqrt(odds / least),
          exp(-rest) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2),
          {skew, cumulant({1, -6}), skew * cumulant({1, -12}), cumulant({1, -30, 120}),
           skew * cumulant({1, -60, 360}), cumulant({1, -126, 1680, -5040}),
           skew * cumulant({1, -252, 5040, -20160})}};
}

// exp(-phi) at u widths from the mode, in the direction `side`.
Array fallen(const Bell& bell, const Array& u, const Array& side) {
  const Array y = side * u * bell.width;
  Array sum = bell.ratios.back();
  for (std::size_t k = bell.ratios.size() - 1; k-- > 0;)
    sum = bell.ratios[k] + sum * y * (1.0 / static_cast<double>(k + 4));
  return exp(-0.5 * u * u * (1 + sum * y * (1.0 / 3)));
}

// Beyond 39 widths, less than the smallest positive number is left.
struct Place {
  Array below, side, widths;
};
Place grid_place(const Bell& bell, const Array& y) {
  const Array below = y < 0;
  return {below, where(below, -1.0, 1.0), minimum(where(below, -y, y) / bell.width, 39.0)};
}
// The part below y, or above it. The smaller part is integrated by Gauss's rule, over enough widths
// that only 2^-54 of it is omitted.
Array part_beside(const Bell& bell, const Array& y, bool upper) {
  static const std::vector<Node> nodes = gauss_nodes(12);
  const Place at = grid_place(bell, y);
  const Array half = 0.5 * (sqrt(at.widths * at.widths + 76) - at.widths);
  Array sum = zeros_like(y);
  for (const Node& n : nodes)
    sum = sum + n.weight * (fallen(bell, at.widths + half * (1 + n.at), at.side) +
                            fallen(bell, at.widths + half * (1 - n.at), at.side));
  const Array beside = bell.height * half * sum;
  return where(upper ? !at.below : at.below, beside, 1 - beside);
}
Array density_at(const Bell& bell, const Array& y) {
  const Place at = grid_place(bell, y);
  return bell.height / bell.width * fallen(bell, at.widths, at.side);
}

// log(x / a), and the logarithm of the odds of x divided by a / b, from exact differences.
Array gamma_place(const Array& a, const Array& x) {
  return clip(log1p(rounded(sum_of(x, -a)) / a), -0.0625, 0.0625);
}
Array beta_place(const Array& a, const Array& b, const Array& x) {
  // Scale both by a power of two, so that products do not overflow.
  const Array scale = where(maximum(a, b) > 0x1p600, 0x1p-600, 1.0), p = a * scale, q = b * scale;
  const DoubleDouble off = plus(product_of(x, q), minus(times(sum_of(ones_like(x), -x), p)));
  const Array above = rounded(off);
  return clip(log1p(maximum(above / p, -1.0)) - log1p(maximum(-above / q, -1.0)), -0.0625, 0.0625);
}

}  // namespace

Array large_gamma_part(const Array& a, const Array& x, bool upper) {
  return part_beside(gamma_bell(a), gamma_place(a, x), upper);
}
Array large_beta_part(const Array& a, const Array& b, const Array& x) {
  return part_beside(beta_bell(a, b), beta_place(a, b, x), false);
}
Array large_beta_density(const Array& a, const Array& b, const Array& x) {
  return density_at(beta_bell(a, b), beta_place(a, b, x));
}

BetaCase beta_case(const Array& a, const Array& b, const Array& valid) {
  // With c the larger parameter and d the other, the argument of the gamma function has a relative
  // error of d^2 / c.
  constexpr double kLimit = 1e30;
  const Array large = valid & (minimum(a, b) > kLargeShape);
  const Array limit = valid & (!large) & (maximum(a, b) > kLimit);
  return {valid & !(large | limit), large, limit};
}
Array beta_at_the_ends(const Array& a, const Array& b, const Array& x) {
  const Array inside = (x >= 0) & (x <= 1);
  const Array usual = (a > 0) & (b > 0) & isfinite(a) & isfinite(b);
  const Array first = ((a == 0) & (b > 0)) | ((b == v0::inf) & (a >= 0) & isfinite(a));
  const Array last = ((b == 0) & (a > 0)) | ((a == v0::inf) & (b >= 0) & isfinite(b));
  const Array at_first = where(x > 0, 1.0, 0.0), at_last = where(x < 1, 0.0, 1.0);
  const Array r = where(first, at_first, where(last, at_last, where(usual, x, v0::nan)));
  return where(inside, r, v0::nan);
}
Array beta_by_gamma(const Array& a, const Array& b, const Array& x,
                    const std::function<Array(const Array&, const Array&, bool)>& gamma_part) {
  const Array first = a < b, least = minimum(a, b), most = maximum(a, b);
  const Array reach = minimum(most * where(first, -log1p(-x), -log(x)), 1e200);
  return where(first, gamma_part(least, reach, false), gamma_part(least, reach, true));
}

}  // namespace tessera::inline v0::detail
