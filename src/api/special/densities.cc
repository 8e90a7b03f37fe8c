#include <tessera/grids.h>
#include <tessera/linalg.h>
#include <tessera/operators.h>
#include <tessera/stats.h>

#include "api/numpy/array_helpers.h"

#include <cmath>
#include <numbers>

namespace tessera::inline v0::stats::multivariate_normal {

namespace {

using In = std::span<const Array>;
const double kLogTwoPi = std::log(2 * std::numbers::pi);

void check_shapes(const char* name, const Array& x, const Array& mean, const Array& cov,
                  const SourceLoc& loc) {
  const std::int64_t n = mean.shape(-1);
  const Shape& c = cov.shape();
  const bool one = x.ndim() == 0 || x.shape(-1) == 1 || x.shape(-1) == n || n == 1;
  const bool square =
      c.rank() == 0 || (c.rank() >= 2 && c[c.size() - 1] == n && c[c.size() - 2] == n);
  if (one && square) return;
  Message(name)
      .problem("x is " + detail::visible_text(x.impl()->type) + ", mean " +
               detail::visible_text(mean.impl()->type) + ", cov " +
               detail::visible_text(cov.impl()->type))
      .rule("x and mean are (..., n), cov (..., n, n) or a number")
      .from(loc)
      .advice("a variance for each element is a diagonal matrix: diag(variances)")
      .raise<ShapeError>();
}

// L^-1 y for each y (..., n), with L (..., n, n) lower triangular. A single L is solved for all
// vectors at once, as rows.
Array whitened(const Array& l, const Array& y) {
  const std::int64_t n = y.shape(-1);
  const linalg::TriangularSolveOptions rows{.lower = true, .transpose_a = true};
  if (l.ndim() == 2)
    return linalg::triangular_solve(l, y.reshape({y.size() / n, n}), rows).reshape(y.shape());
  Shape vectors(y.shape().begin(), y.shape().end() - 1);
  Shape matrices(l.shape().begin(), l.shape().end() - 2);
  vectors = matrices = broadcast_shapes(vectors, matrices, "multivariate_normal");
  vectors.push_back(1), vectors.push_back(n);
  matrices.push_back(n), matrices.push_back(n);
  const Array each = linalg::triangular_solve(broadcast_to(l, matrices),
                                              broadcast_to(expand_dims(y, -2), vectors), rows);
  return squeeze(each, -2);
}

Array log_density(const char* name, In in, const SourceLoc& loc) {
  for (const Array& a : in) detail::need_real(name, a, loc);
  const std::vector<Array> all = detail::promoted({in[0], in[1], in[2]});
  const Array x = detail::in_floats(all[0]), mean = detail::in_floats(all[1]),
              cov = detail::in_floats(all[2]);
  if (mean.ndim() == 0) return -0.5 * square(x - mean) / cov - 0.5 * (kLogTwoPi + log(cov));
  check_shapes(name, x, mean, cov, loc);
  const double half = 0.5 * static_cast<double>(mean.shape(-1));
  const Array y = x - mean;
  if (cov.ndim() == 0) return -0.5 * sum(y * y, -1) / cov - half * (kLogTwoPi + log(cov));
  const Array l = linalg::cholesky(cov), z = whitened(l, y);
  return -0.5 * sum(z * z, -1) - half * kLogTwoPi - sum(log(diagonal(l, 0, -2, -1)), -1);
}

}  // namespace

Array logpdf(Operand x, Operand mean, Operand cov) {
  const char* name = "multivariate_normal::logpdf";
  return detail::composed1(name, {x.array, mean.array, cov.array}, x.loc,
                           [&](In in) { return log_density(name, in, x.loc); });
}
Array pdf(Operand x, Operand mean, Operand cov) {
  const char* name = "multivariate_normal::pdf";
  return detail::composed1(name, {x.array, mean.array, cov.array}, x.loc,
                           [&](In in) { return exp(log_density(name, in, x.loc)); });
}

}  // namespace tessera::inline v0::stats::multivariate_normal
