// Bit operations on numbers, and random bits, under the names of NumPy and JAX.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0 {

/// The number of set bits of an integer, in its dtype.
TESSERA_API Array population_count(Operand x);
/// The number of set bits of |x| as uint8, as in NumPy.
TESSERA_API Array bitwise_count(Operand x);
/// The number of zero bits above the highest set bit of an integer, in its dtype; for 0 this is the
/// width.
TESSERA_API Array count_leading_zeros(Operand x);
/// The upper half of the double-width product of two integers.
TESSERA_API Array mulhi(Operand x, Operand y);
/// The next float after x in the direction of y. It has no derivative.
TESSERA_API Array nextafter(Operand x, Operand y);
/// Rounds x to the nearest number of a float format with these numbers of bits, halves to even, and
/// returns it in x's dtype. The result is infinite above that format's range and zero below its
/// least normal number. The derivative is rounded in the same way. Throws Error for less than one
/// exponent bit or a negative number of mantissa bits, and DTypeError for integers.
TESSERA_API Array reduce_precision(Operand x, int exponent_bits, int mantissa_bits);
/// The bits of x reinterpreted as `dtype`. For a narrower dtype a last dimension is added, which
/// holds the parts of each element, lowest bits first. For a wider one the last dimension is
/// removed; it must hold exactly the parts of one element. Throws DTypeError if the widths do not
/// match.
TESSERA_API Array bitcast_convert_type(Operand x, DType dtype);

/// The counter-based generators of rng_bit_generator.
enum class BitGenerator { three_fry, philox };
/// The next state of the generator, and the random bits.
struct RandomBits {
  Array state, bits;
};
/// Returns uniform bits and the next state, as XLA does. The state is two uint64, a key and a
/// counter; Philox also takes three, with a 128-bit counter. This is for programs that hold such a
/// state; random::bits with a key is the usual way.
TESSERA_API RandomBits rng_bit_generator(Operand state, Shape shape,
                                         BitGenerator algorithm = BitGenerator::philox,
                                         DType dtype = DType::uint32);

}  // namespace tessera::inline v0
