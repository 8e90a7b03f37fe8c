// Element types narrower than any dtype: integers of 2 and 4 bits, floats of 4 to 8. Their values are
// carried in a wider dtype that holds each of them, and each result is brought back among them.
#pragma once

#include "ops/build.h"

#include <cstdint>
#include <string_view>

namespace tessera::inline v0::stablehlo {

struct Narrow {
  /// What stands beyond the finite numbers of a float.
  enum class Beyond {
    nothing,        // the greatest number stands for what is greater
    infinity,       // as IEEE 754 has it, and NaN
    one_nan,        // NaN where all bits are set but the sign
    zero_is_nan,    // NaN is the negative zero
    powers_of_two,  // no sign, no zero, NaN where all bits are set
  };
  std::string_view name;
  DType carrier;
  int bits;  // of an element
  int mantissa = 0, bias = 0;
  Beyond beyond = Beyond::nothing;
  double greatest = 0;  // of the finite numbers of a float
};

/// Null where the element is none of these.
const Narrow* narrow_of(std::string_view element);

/// The carrier's numbers as those of the type: integers wrap, floats round to the nearest even.
Value narrowed(Value x, const Narrow& type);
/// The same of a number that stands in a text.
double narrowed(double x, const Narrow& type);
/// The number that bits of an element stand for.
double number_of_bits(std::uint8_t bits, const Narrow& type);
/// Exponent of the least number that has all digits.
int least_exponent(const Narrow& type);

/// Bits of an integer alone, without copies of its sign above them.
Value bits_alone(Value x, const Narrow& type);
/// The bits of floats as uint8, and the floats of such bits. A NaN is one of the type's.
Value bits_of_numbers(Value x, const Narrow& type);
Value numbers_of_bits(Value bits, const Narrow& type);

}  // namespace tessera::inline v0::stablehlo
