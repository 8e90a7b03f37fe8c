// Polynomials given by their coefficients, highest power first, as in NumPy.
#pragma once

#include <tessera/array.h>

#include <optional>

namespace tessera::inline v0 {

/// Evaluates the polynomial with the coefficient vector p at each x. Throws ShapeError if p is not
/// a vector.
TESSERA_API Array polyval(Operand p, Operand x);
/// The coefficients of p + q, where the shorter operand is zero-padded in front, in floats.
TESSERA_API Array polyadd(Operand p, Operand q);
/// The coefficients of p - q, where the shorter operand is zero-padded in front, in floats.
TESSERA_API Array polysub(Operand p, Operand q);
/// The coefficients of the product, in floats.
TESSERA_API Array polymul(Operand p, Operand q);
/// The m-th derivative, in floats. Throws ShapeError for a negative m.
TESSERA_API Array polyder(Operand p, std::int64_t m = 1);
/// The m-th integral, in floats, with the integration constants `k`, one for all or one per
/// integration. Throws ShapeError for a negative m and for another number of constants.
TESSERA_API Array polyint(Operand p, std::int64_t m = 1, std::optional<Array> k = {});

/// `w` (n) are weights of the equations. Singular values below rcond times the largest count as
/// zero; the default rcond is n times the eps of x's dtype.
struct PolyfitOptions {
  detail::Named named = detail::Named();
  std::optional<double> rcond = {};
  std::optional<Array> w = {};
};
/// The coefficients (deg + 1) or (deg + 1, k) of the polynomials of degree `deg` that best fit y
/// (n) or (n, k) at x (n) by least squares, in floats. Throws ShapeError for other shapes, for an x
/// without elements, and for a negative degree.
TESSERA_API Array polyfit(Operand x, Operand y, std::int64_t deg,
                          const PolyfitOptions& options = {});

}  // namespace tessera::inline v0
