// Draws that need a factorisation: normal vectors with a covariance, and orthogonal matrices.
#include <tessera/distributions.h>
#include <tessera/elementwise.h>
#include <tessera/grids.h>
#include <tessera/linalg.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/random.h>

#include "api/numpy/array_helpers.h"
#include "api/random/draws.h"
#include "api/random/parameters.h"

#include <algorithm>

namespace tessera::inline v0::random {

using detail::composed1;

namespace {

// F with F F^T = cov, for each method.
using Factor = Array (*)(const Array& cov);
Array by_cholesky(const Array& cov) { return linalg::cholesky(cov); }
Array by_eigenvalues(const Array& cov) {
  const linalg::Eigh e = linalg::eigh(cov);
  return e.eigenvectors * expand_dims(sqrt(e.eigenvalues), -2);
}
Array by_singular_values(const Array& cov) {
  const linalg::SVD s = linalg::svd(cov);
  return s.u * expand_dims(sqrt(s.s), -2);
}

Factor factor_of(const std::string& method, const Operand& key) {
  if (method == "cholesky") return by_cholesky;
  if (method == "eigh") return by_eigenvalues;
  if (method == "svd") return by_singular_values;
  Message("multivariate_normal")
      .problem("the method \"" + method + "\"")
      .rule("the methods are \"cholesky\", \"eigh\" and \"svd\"")
      .from(key.loc)
      .advice("leave it out for \"cholesky\"; \"eigh\" takes singular covariances, too")
      .raise<Error>();
}

void check_vector_and_matrix(const Array& mean, const Array& cov, const Operand& key) {
  const Shape &m = mean.shape(), &c = cov.shape();
  if (m.rank() >= 1 && c.rank() >= 2 && c[c.size() - 1] == m[m.size() - 1] &&
      c[c.size() - 2] == m[m.size() - 1])
    return;
  Message("multivariate_normal")
      .problem("mean is " + detail::visible_text(mean.impl()->type) + ", cov " +
               detail::visible_text(cov.impl()->type))
      .rule("mean is (..., n) and cov (..., n, n)")
      .from(key.loc)
      .advice("a variance for each element is a diagonal matrix: diag(variances)")
      .raise<ShapeError>();
}

Shape without_last(const Shape& s, std::size_t n) { return Shape(s.begin(), s.end() - n); }

// The shape of the drawn batch, to which the batch dimensions of mean and cov broadcast.
Shape batches(const Shape& mean, const Shape& cov, const std::optional<Shape>& wanted,
              const Operand& key) {
  const Shape all =
      broadcast_shapes(without_last(mean, 1), without_last(cov, 2), "multivariate_normal");
  if (!wanted) return all;
  if (all.rank() <= wanted->rank() &&
      broadcast_shapes(all, *wanted, "multivariate_normal") == *wanted)
    return *wanted;
  Message("multivariate_normal")
      .problem("the batches of mean and cov are " + to_string(all) + ", the shape " +
               to_string(*wanted))
      .rule("they broadcast to the shape of the draw, which has no place for the last axis")
      .from(key.loc)
      .advice("leave the shape out, or put the parameters' own axes at its end")
      .raise<ShapeError>();
}

}  // namespace

Array multivariate_normal(Operand key, Operand mean, Operand cov, std::optional<Shape> shape,
                          DType dtype, const std::string& method) {
  const InFunction called("multivariate_normal", key.loc);
  check_key("multivariate_normal", key);
  check_float("multivariate_normal", dtype, key);
  const Factor factor_by = factor_of(method, key);
  return composed1("multivariate_normal", {key.array, mean.array, cov.array}, key.loc,
                   [&](std::span<const Array> in) {
                     detail::need_real("multivariate_normal", in[1], key.loc);
                     detail::need_real("multivariate_normal", in[2], key.loc);
                     check_vector_and_matrix(in[1], in[2], key);
                     Shape whole = batches(in[1].shape(), in[2].shape(), shape, key);
                     whole.push_back(in[1].shape(-1));
                     const Array factor = factor_by(astype(in[2], dtype));
                     const Array z = normal(in[0], whole, dtype);
                     return astype(in[1], dtype) + einsum("...ij,...j->...i", factor, z);
                   });
}

Array orthogonal(Operand key, std::int64_t n, const Shape& shape, DType dtype,
                 std::optional<std::int64_t> m) {
  const InFunction called("orthogonal", key.loc);
  check_key("orthogonal", key);
  check_float("orthogonal", dtype, key);
  const std::int64_t columns = m.value_or(n), more = std::max(n, columns),
                     less = std::min(n, columns);
  if (less < 0)
    Message("orthogonal")
        .problem(std::to_string(n) + " rows and " + std::to_string(columns) + " columns")
        .rule("a matrix has 0 or more of both")
        .from(key.loc)
        .advice("orthogonal(key, 3) is of 3 rows and 3 columns")
        .raise<ShapeError>();
  Shape whole = shape;
  whole.push_back(more);
  whole.push_back(less);
  return composed1("orthogonal", {key.array}, key.loc, [&](std::span<const Array> in) {
    const linalg::QR f = linalg::qr(normal(in[0], whole, dtype));
    // Choose the signs of the factorisation so that the diagonal of R is positive: Q is then
    // uniformly distributed (Mezzadri 2007).
    const Array q = f.q * expand_dims(sign(diagonal(f.r, 0, -2, -1)), -2);
    return n < columns ? swapaxes(q, -1, -2) : q;
  });
}

}  // namespace tessera::inline v0::random
