// Polynomials by their coefficients, the highest power first, as NumPy has them.
#pragma once

#include <tessera/array.h>

#include <optional>

namespace tessera::inline v0 {

/// The value at each x of the polynomial with coefficients p, a vector. ShapeError for another.
TESSERA_API Array polyval(Operand p, Operand x);
/// Sums and differences of coefficients, the shorter ones filled up with zeros in front; their
/// product in floats.
TESSERA_API Array polyadd(Operand p, Operand q);
TESSERA_API Array polysub(Operand p, Operand q);
TESSERA_API Array polymul(Operand p, Operand q);
/// The m-th derivative, and the m-th integral, whose constants are `k`, one for all or one for each
/// integration; in floats. ShapeError for a negative m and another number of constants.
TESSERA_API Array polyder(Operand p, std::int64_t m = 1);
TESSERA_API Array polyint(Operand p, std::int64_t m = 1, std::optional<Array> k = {});

/// `w` are factors of the equations, (n); singular values below rcond times the largest count as
/// zero: without it, n times the eps of x's dtype.
struct PolyfitOptions {
  detail::Named named = detail::Named();
  std::optional<double> rcond = {};
  std::optional<Array> w = {};
};
/// The coefficients (deg + 1), or (deg + 1, k), of the polynomials of degree `deg` that come
/// closest to y (n), or (n, k), at x (n), by least squares; in floats. ShapeError for others, for
/// an x without elements and a negative degree.
TESSERA_API Array polyfit(Operand x, Operand y, std::int64_t deg,
                          const PolyfitOptions& options = {});

}  // namespace tessera::inline v0
