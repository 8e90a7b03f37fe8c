#include <tessera/grids.h>
#include <tessera/limits.h>
#include <tessera/linalg.h>
#include <tessera/operators.h>
#include <tessera/polynomial.h>

#include "api/numpy/array_helpers.h"

namespace tessera::inline v0 {

namespace {

void check_points(const Array& x, const Array& y, std::int64_t deg, const SourceLoc& loc) {
  if (deg >= 0 && x.ndim() == 1 && x.size() > 0 && (y.ndim() == 1 || y.ndim() == 2) &&
      y.shape(0) == x.size())
    return;
  Message("polyfit")
      .problem("x is " + detail::visible_text(x.impl()->type) + ", y " +
               detail::visible_text(y.impl()->type) + ", the degree " + std::to_string(deg))
      .rule("x is (n), y (n) or (n, k), n at least 1, and the degree at least 0")
      .from(loc)
      .advice("flatten them: polyfit(x.ravel(), y.ravel(), deg)")
      .raise<ShapeError>();
}

void check_weights(const Array& w, const Array& x, const SourceLoc& loc) {
  if (w.ndim() == 1 && w.size() == x.size()) return;
  Message("polyfit")
      .problem("w is " + detail::visible_text(w.impl()->type) + " for " +
               detail::counted(static_cast<std::size_t>(x.size()), "point"))
      .rule("each point has one factor")
      .from(loc)
      .advice("w = 1 / sigma where sigma (n) are the points' standard deviations")
      .raise<ShapeError>();
}

// x as a column if y has columns.
Array columns_beside(const Array& x, const Array& y) {
  return y.ndim() == 2 ? expand_dims(x, 1) : x;
}

}  // namespace

Array polyfit(Operand x, Operand y, std::int64_t deg, const PolyfitOptions& options) {
  std::vector<Array> given{x.array, y.array};
  if (options.w) given.push_back(*options.w);
  return detail::composed1("polyfit", given, x.loc, [&](std::span<const Array> in) {
    for (const Array& a : in) detail::need_real("polyfit", a, x.loc);
    check_points(in[0], in[1], deg, x.loc);
    const Array at = detail::in_floats(array(in[0]));
    const double eps = finfo(at.dtype()).eps;
    const double rcond = options.rcond.value_or(static_cast<double>(at.size()) * eps);
    Array powers = vander(at, deg + 1), right = detail::in_floats(array(in[1]));
    if (in.size() > 2) {
      check_weights(in[2], in[0], x.loc);
      const Array w = detail::in_floats(array(in[2]));
      powers = powers * expand_dims(w, 1);
      right = right * columns_beside(w, right);
    }
    // Scale the columns to length 1, so that the rank cutoff does not depend on the units of x.
    const Array scale = sqrt(sum(powers * powers, 0));
    const Array found = linalg::lstsq(powers / scale, right, rcond).x;
    return found / columns_beside(scale, found);
  });
}

}  // namespace tessera::inline v0
