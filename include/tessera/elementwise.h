// Elementwise functions under the names of NumPy and JAX. Functions of several operands broadcast
// and promote them, and throw ShapeError if their shapes do not broadcast.
//
// Functions "in floats" first convert integers and booleans to float32 (64-bit integers to
// float64). A weak dtype stays weak. A bare integer takes the dtype of the integers that it is
// combined with, and DTypeError is thrown if that cannot hold it; comparisons, however, compare the
// actual numbers. Values at edge cases (NaN, infinities, branch points) are those of the C++
// function of the same name.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0 {

// --- one operand, in floats
/// e to the power x.
TESSERA_API Array exp(Operand x);
/// 2 to the power x.
TESSERA_API Array exp2(Operand x);
/// exp(x) - 1, accurate near 0.
TESSERA_API Array expm1(Operand x);
/// The natural logarithm. Real negative numbers give NaN, 0 gives -inf.
TESSERA_API Array log(Operand x);
/// The logarithm to base 2.
TESSERA_API Array log2(Operand x);
/// The logarithm to base 10.
TESSERA_API Array log10(Operand x);
/// log(1 + x), accurate near 0.
TESSERA_API Array log1p(Operand x);
/// The square root. Real negative numbers give NaN.
TESSERA_API Array sqrt(Operand x);
/// 1 / sqrt(x)
TESSERA_API Array rsqrt(Operand x);
/// The real cube root, negative for negative x.
TESSERA_API Array cbrt(Operand x);
/// The sine of x in radians.
TESSERA_API Array sin(Operand x);
/// The cosine of x in radians.
TESSERA_API Array cos(Operand x);
/// The tangent of x in radians.
TESSERA_API Array tan(Operand x);
/// The inverse sine in radians, in [-pi/2, pi/2]. Real numbers outside [-1, 1] give NaN.
TESSERA_API Array arcsin(Operand x);
/// The inverse cosine in radians, in [0, pi]. Real numbers outside [-1, 1] give NaN.
TESSERA_API Array arccos(Operand x);
/// The inverse tangent in radians, in [-pi/2, pi/2].
TESSERA_API Array arctan(Operand x);
/// The hyperbolic sine.
TESSERA_API Array sinh(Operand x);
/// The hyperbolic cosine.
TESSERA_API Array cosh(Operand x);
/// The hyperbolic tangent.
TESSERA_API Array tanh(Operand x);
/// The inverse hyperbolic sine.
TESSERA_API Array arcsinh(Operand x);
/// The inverse hyperbolic cosine. Real numbers below 1 give NaN.
TESSERA_API Array arccosh(Operand x);
/// The inverse hyperbolic tangent. 1 and -1 give infinities, real numbers outside give NaN.
TESSERA_API Array arctanh(Operand x);
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
TESSERA_API Array erf(Operand x);
/// 1 - erf(x), accurate where erf is close to 1.
TESSERA_API Array erfc(Operand x);
/// The inverse of erf. 1 and -1 give infinities, numbers outside give NaN.
TESSERA_API Array erf_inv(Operand x);
/// 1 / (1 + exp(-x))
TESSERA_API Array sigmoid(Operand x);
/// 1 / x
TESSERA_API Array reciprocal(Operand x);
/// The largest integer not above x (floor), and the smallest not below it (ceil); integers are
/// returned unchanged.
TESSERA_API Array floor(Operand x);
TESSERA_API Array ceil(Operand x);
/// Rounds to the nearest integer, halves to even.
TESSERA_API Array round(Operand x);
/// Rounds towards zero.
TESSERA_API Array trunc(Operand x);

// --- one operand, dtype kept
/// -x. Unsigned integers wrap.
TESSERA_API Array negative(Operand x);
/// The absolute value, real if x is complex. Its derivative at 0 is 1, or 0 for complex numbers.
TESSERA_API Array abs(Operand x);
/// -1, 0 or 1; NaN gives NaN. For complex numbers x / |x|.
TESSERA_API Array sign(Operand x);
/// x * x
TESSERA_API Array square(Operand x);
/// Whether x is zero, as booleans.
TESSERA_API Array logical_not(Operand x);
/// All bits of an integer inverted, or the negation of a boolean; the operator ~ as a function.
TESSERA_API Array bitwise_not(Operand x);
/// Whether an element is NaN, as booleans.
TESSERA_API Array isnan(Operand x);
/// Whether an element is positive or negative infinity, as booleans.
TESSERA_API Array isinf(Operand x);
/// Whether an element is neither infinite nor NaN, as booleans.
TESSERA_API Array isfinite(Operand x);

// --- complex numbers. Real operands are their own real part and conjugate.
/// re + im i: complex128 if a part is float64 or a 64-bit integer, else complex64. The parts
/// broadcast. Throws DTypeError for complex parts.
TESSERA_API Array complex(Operand re, Operand im);
/// The real part, float32 for complex64 and float64 for complex128.
TESSERA_API Array real(Operand x);
/// The imaginary part, with the dtype of real(x); zeros for real x.
TESSERA_API Array imag(Operand x);
/// Negates the imaginary part.
TESSERA_API Array conj(Operand x);
/// The same as conj.
TESSERA_API Array conjugate(Operand x);
/// The angle of x in [-pi, pi], in floats.
TESSERA_API Array angle(Operand x);
/// Whether the imaginary part is zero, as booleans.
TESSERA_API Array isreal(Operand x);
/// Whether the imaginary part is not zero, as booleans.
TESSERA_API Array iscomplex(Operand x);
/// Whether the dtype is complex.
TESSERA_API bool iscomplexobj(const Array& x,
                              std::source_location loc = std::source_location::current());
/// Whether the dtype is not complex.
TESSERA_API bool isrealobj(const Array& x,
                           std::source_location loc = std::source_location::current());

// --- two operands
/// x + y
TESSERA_API Array add(Operand x, Operand y);
/// x - y
TESSERA_API Array subtract(Operand x, Operand y);
/// x * y
TESSERA_API Array multiply(Operand x, Operand y);
/// True division, in floats.
TESSERA_API Array divide(Operand x, Operand y);
/// floor(x / y); integers round towards minus infinity and give 0 if y is 0. Booleans become int32.
TESSERA_API Array floor_divide(Operand x, Operand y);
/// x - y * floor(x / y), which has the sign of y; for integers 0 if y is 0. Booleans become int32.
TESSERA_API Array remainder(Operand x, Operand y);
/// x ** y. Integers to integer powers stay integers, exact except for wrapping. To a negative power
/// they are 1 / x^-y truncated (0 if x is 0), but a bare negative number throws DTypeError. A C++
/// integer exponent is computed by repeated multiplication.
TESSERA_API Array power(Operand x, Operand y);
/// The same as power.
TESSERA_API Array pow(Operand x, Operand y);
/// The angle of the point (x, y) in radians, in [-pi, pi]: the inverse tangent of y / x in the
/// quadrant of the point.
TESSERA_API Array arctan2(Operand y, Operand x);
/// The larger of two; NaN if one is NaN. For equal operands each gets half of the derivative.
TESSERA_API Array maximum(Operand x, Operand y);
/// The smaller of two; NaN if one is NaN. For equal operands each gets half of the derivative.
TESSERA_API Array minimum(Operand x, Operand y);
/// log(exp(x) + exp(y)) without overflow.
TESSERA_API Array logaddexp(Operand x, Operand y);
/// sqrt(x^2 + y^2), without overflow in between.
TESSERA_API Array hypot(Operand x, Operand y);
/// Whether x == y, as booleans; NaN equals nothing. Complex numbers are compared by both parts.
TESSERA_API Array equal(Operand x, Operand y);
/// Whether x != y, as booleans.
TESSERA_API Array not_equal(Operand x, Operand y);
/// Whether x < y, as booleans. Throws DTypeError for complex numbers, here and in the next three.
TESSERA_API Array less(Operand x, Operand y);
/// Whether x <= y, as booleans.
TESSERA_API Array less_equal(Operand x, Operand y);
/// Whether x > y, as booleans.
TESSERA_API Array greater(Operand x, Operand y);
/// Whether x >= y, as booleans.
TESSERA_API Array greater_equal(Operand x, Operand y);
/// Whether x and y are both not zero, as booleans.
TESSERA_API Array logical_and(Operand x, Operand y);
/// Whether x or y is not zero, as booleans.
TESSERA_API Array logical_or(Operand x, Operand y);
/// Whether exactly one of x and y is not zero, as booleans.
TESSERA_API Array logical_xor(Operand x, Operand y);

// --- selection
/// x where condition is true, y elsewhere; all three broadcast.
TESSERA_API Array where(Operand condition, Operand x, Operand y);
/// min(max(x, lo), hi). At a bound, half of the derivative goes to x.
TESSERA_API Array clip(Operand x, Operand lo, Operand hi);
/// Replaces NaN by zero, and infinities by the largest finite values.
TESSERA_API Array nan_to_num(Operand x);

/// x converted to `dtype`. Floats converted to integers are truncated and saturate. Throws
/// DTypeError for complex to real: use real(x), imag(x) or abs(x).
TESSERA_API Array astype(Operand x, DType dtype);
/// Returns x as a constant for differentiation.
TESSERA_API Array stop_gradient(Operand x);

}  // namespace tessera::inline v0
