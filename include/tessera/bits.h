// Numbers as strings of bits, and random bits, as NumPy and JAX name them.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0 {

/// The number of bits that are set, of integers, in their dtype.
TESSERA_API Array population_count(Operand x);
/// That of |x|, as uint8, which is NumPy's.
TESSERA_API Array bitwise_count(Operand x);
/// The number of bits above the highest that is set, of integers, in their dtype; of 0 the width.
TESSERA_API Array count_leading_zeros(Operand x);
/// The upper half of the product of two integers in twice their width.
TESSERA_API Array mulhi(Operand x, Operand y);
/// The float next to x in the direction of y. It has no derivative.
TESSERA_API Array nextafter(Operand x, Operand y);
/// x rounded to nearest even as a float of so many bits holds it, in its own dtype: infinite above
/// that float's range, zero below its least normal number. The derivative is rounded alike. Throws
/// Error where there is no exponent bit or a negative number of bits, DTypeError of integers.
TESSERA_API Array reduce_precision(Operand x, int exponent_bits, int mantissa_bits);
/// The bits of x read as `dtype`. To a narrower dtype a last dimension comes of the pieces, the
/// lowest bits first; to a wider one the last dimension goes, which then has as many elements as
/// one is wide. Throws DTypeError where the widths do not fit.
TESSERA_API Array bitcast_convert_type(Operand x, DType dtype);

enum class BitGenerator { three_fry, philox };
struct RandomBits {
  Array state, bits;
};
/// Uniform bits from a state of two uint64, a key and a counter (of three for Philox too, with a
/// counter of 128 bits), and the next state: those that XLA gives. For programs that hold such a
/// state; `random::bits` of a key is the usual way.
TESSERA_API RandomBits rng_bit_generator(Operand state, Shape shape,
                                         BitGenerator algorithm = BitGenerator::philox,
                                         DType dtype = DType::uint32);

}  // namespace tessera::inline v0
