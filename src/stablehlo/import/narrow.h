// Element types narrower than any dtype: integers of 2 and 4 bits, floats of 4 to 8. Their values
// are stored in a wider dtype that holds all of them, and each result is rounded or wrapped back to
// the narrow type.
#pragma once

#include "ops/build.h"

#include <cstdint>
#include <string_view>

namespace tessera::inline v0::stablehlo {

struct Narrow {
  /// What a float type has beyond its finite numbers.
  enum class Beyond {
    nothing,        // larger numbers saturate to the largest finite one
    infinity,       // infinities and NaN as in IEEE 754
    one_nan,        // NaN, with all bits but the sign set
    zero_is_nan,    // NaN is encoded as negative zero
    powers_of_two,  // no sign and no zero; NaN has all bits set
  };
  std::string_view name;
  DType carrier;
  int bits;  // per element
  int mantissa = 0, bias = 0;
  Beyond beyond = Beyond::nothing;
  double greatest = 0;  // the largest finite number of a float type
};

/// Null if the element type is none of these.
const Narrow* narrow_of(std::string_view element);

/// Converts numbers of the carrier to the narrow type: integers wrap, floats round to nearest even.
Value narrowed(Value x, const Narrow& type);
/// The same for one number, which a text contains.
double narrowed(double x, const Narrow& type);
/// The number that the bits of an element encode.
double number_of_bits(std::uint8_t bits, const Narrow& type);
/// The exponent of the smallest normal number.
int least_exponent(const Narrow& type);

/// The bits of an integer, with the sign extension above them cleared.
Value bits_alone(Value x, const Narrow& type);
/// The bits of floats as uint8; and (numbers_of_bits) the reverse. NaNs become the NaN of the type.
Value bits_of_numbers(Value x, const Narrow& type);
Value numbers_of_bits(Value bits, const Narrow& type);

}  // namespace tessera::inline v0::stablehlo
