// More elementwise arithmetic under NumPy's names. As in elementwise.h, operands broadcast and
// promote, and "in floats" means that integers and booleans are converted first.
#pragma once

#include <tessera/array.h>

#include <vector>

namespace tessera::inline v0 {

/// Returns x as an array. Unlike array(x), an existing array is returned itself.
TESSERA_API Array asarray(Operand x, std::optional<DType> dtype = {});
/// Rounds to this many decimal places, halves to even. Integers are returned unchanged; a negative
/// `decimals` for them throws DTypeError.
TESSERA_API Array around(Operand x, int decimals = 0);
/// The same as remainder.
TESSERA_API Array mod(Operand x, Operand y);
/// The bitwise and of integers, or the logical and of booleans; the operator & as a function.
TESSERA_API Array bitwise_and(Operand x, Operand y);
/// The bitwise or of integers, or the logical or of booleans; the operator | as a function.
TESSERA_API Array bitwise_or(Operand x, Operand y);
/// The bitwise exclusive or of integers or booleans; the operator ^ as a function.
TESSERA_API Array bitwise_xor(Operand x, Operand y);

/// |x| in floats. Throws DTypeError for complex numbers.
TESSERA_API Array fabs(Operand x);
/// Whether the sign bit is set, also for -0 and NaN. Throws DTypeError for complex numbers.
TESSERA_API Array signbit(Operand x);
/// |x| with the sign of y, in floats.
TESSERA_API Array copysign(Operand x, Operand y);
/// x ** y in floats.
TESSERA_API Array float_power(Operand x, Operand y);
/// The larger of two; if one is NaN, the other.
TESSERA_API Array fmax(Operand x, Operand y);
/// The smaller of two; if one is NaN, the other.
TESSERA_API Array fmin(Operand x, Operand y);
/// x - y * trunc(x / y), which has the sign of x; for integers 0 if y is 0.
TESSERA_API Array fmod(Operand x, Operand y);
/// floor_divide(x, y) and remainder(x, y).
struct DivMod {
  /// The quotients and the remainders.
  Array quotient, remainder;
};
TESSERA_API DivMod divmod(Operand x, Operand y);
/// 0 for x < 0, 1 for x > 0, and y at zero, in floats; NaN gives NaN.
TESSERA_API Array heaviside(Operand x, Operand y);
/// x * 2 ** exponent, rounded once, with x in floats. Throws DTypeError if the exponent is not an
/// integer.
TESSERA_API Array ldexp(Operand x, Operand exponent);
/// The non-negative greatest common divisor and least common multiple of integers. gcd is 0 if both
/// are 0, lcm if either is. Throws DTypeError for floats.
TESSERA_API Array gcd(Operand x, Operand y);
TESSERA_API Array lcm(Operand x, Operand y);
/// Converts degrees to radians, in floats.
TESSERA_API Array deg2rad(Operand x);
/// Converts radians to degrees, in floats.
TESSERA_API Array rad2deg(Operand x);
/// sin(pi x) / (pi x), and 1 at zero, in floats. All derivatives exist at zero.
TESSERA_API Array sinc(Operand x);

/// Takes each element from the first choice whose condition holds there, else from `otherwise`. All
/// arguments broadcast. Throws ShapeError unless there is one choice per condition.
TESSERA_API Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices,
                         Operand otherwise = 0);

}  // namespace tessera::inline v0
