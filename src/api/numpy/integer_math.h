// Exact integer division, powers and comparisons, as NumPy defines them.
#pragma once

#include "api/array/array_impl.h"

#include <optional>

namespace tessera::inline v0::detail {

/// Rounds towards minus infinity; 0 if y is 0.
Value floor_divide_integers(Value x, Value y);
Value floor_divide_floats(Value x, Value y);
/// Has the sign of y; 0 if both are integers and y is 0.
Value remainder_of(Value x, Value y);
/// x^y, wrapped to the dtype. If y is negative, the result is 1 / x^-y rounded towards zero, or 0
/// if x is 0.
Value power_of_integers(Value x, Value y);
/// Throws DTypeError if the exponent of an integer power is negative.
void check_exponent(std::int64_t exponent, const SourceLoc& loc);

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal };
/// Compares an integer array with a bare integer outside the range of its dtype, so that all
/// elements of the result are equal. Returns nothing if neither operand is such a number.
std::optional<Array> compared_with_number(const char* function, const Operand& x, const Operand& y,
                                          Comparison kind);
/// Whether one type is uint64 and the other a signed integer: no integer dtype holds both.
bool differ_in_sign(const Type& x, const Type& y);
/// Applies comparison `f` exactly to operands that differ_in_sign.
Value compare_64_bits(const char* function, Value x, Value y, Value (*f)(Value, Value),
                      Comparison kind);
/// Whether a weak integer of unknown value meets another integer dtype, which may not hold the
/// value.
bool weak_beside_integer(const Type& x, const Type& y);

}  // namespace tessera::inline v0::detail
