// More elementwise arithmetic, as NumPy names it. As the functions of elementwise.h: operands
// broadcast and promote, and "in floats" converts integers and booleans first.
#pragma once

#include <tessera/array.h>

#include <vector>

namespace tessera::inline v0 {

/// x as an array: array(x), but one that is there is itself.
TESSERA_API Array asarray(Operand x, std::optional<DType> dtype = {});
/// To so many decimal places, halves to even; integers stay as they are, and DTypeError for places
/// before the point of theirs.
TESSERA_API Array around(Operand x, int decimals = 0);
/// remainder and the bitwise operators by name.
TESSERA_API Array mod(Operand x, Operand y);
TESSERA_API Array bitwise_and(Operand x, Operand y);
TESSERA_API Array bitwise_or(Operand x, Operand y);
TESSERA_API Array bitwise_xor(Operand x, Operand y);

/// |x| in floats; of complex numbers DTypeError.
TESSERA_API Array fabs(Operand x);
/// Whether the sign is minus, of -0 and of NaNs too. DTypeError of complex numbers.
TESSERA_API Array signbit(Operand x);
/// |x| with the sign of y, in floats.
TESSERA_API Array copysign(Operand x, Operand y);
/// x ** y in floats.
TESSERA_API Array float_power(Operand x, Operand y);
/// The larger (smaller) of two; a number wins over NaN.
TESSERA_API Array fmax(Operand x, Operand y);
TESSERA_API Array fmin(Operand x, Operand y);
/// x - y * trunc(x / y): has the sign of x; 0 for integers where y is 0.
TESSERA_API Array fmod(Operand x, Operand y);
/// floor_divide(x, y) and remainder(x, y).
struct DivMod {
  Array quotient, remainder;
};
TESSERA_API DivMod divmod(Operand x, Operand y);
/// 0 below zero, 1 above it, y at zero, in floats; NaN stays NaN.
TESSERA_API Array heaviside(Operand x, Operand y);
/// x * 2 ** exponent, rounded once; the exponent is an integer. x in floats. DTypeError otherwise.
TESSERA_API Array ldexp(Operand x, Operand exponent);
/// The greatest common divisor and the least common multiple of integers, not negative: 0 where
/// both are 0, where either is 0. DTypeError of floats.
TESSERA_API Array gcd(Operand x, Operand y);
TESSERA_API Array lcm(Operand x, Operand y);
/// Degrees to radians, and back, in floats.
TESSERA_API Array deg2rad(Operand x);
TESSERA_API Array rad2deg(Operand x);
/// sin(pi x) / (pi x), 1 at zero, in floats; all derivatives exist there.
TESSERA_API Array sinc(Operand x);

/// For each place the element of the first choice whose condition holds there, else `otherwise`.
/// All broadcast. ShapeError unless there is a choice for each condition.
TESSERA_API Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices,
                         Operand otherwise = 0);

}  // namespace tessera::inline v0
