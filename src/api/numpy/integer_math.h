// Division, powers and comparisons of integers in whole, as NumPy defines them.
#pragma once

#include "api/array/array_impl.h"

#include <optional>

namespace tessera::inline v0::detail {

/// Towards minus infinity; 0 where y is 0.
Value floor_divide_integers(Value x, Value y);
Value floor_divide_floats(Value x, Value y);
/// With the sign of y; 0 where both are integers and y is 0.
Value remainder_of(Value x, Value y);
/// x^y, wrapped to the dtype. Where y is negative the quotient 1 / x^-y cut to a whole number, and
/// 0 where x is 0.
Value power_of_integers(Value x, Value y);
/// DTypeError for a negative exponent of integers.
void check_exponent(std::int64_t exponent, const SourceLoc& loc);

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal };
/// The comparison of an integer array with a bare integer that its dtype does not hold, which is
/// the same for all elements; none where the number fits, or is none.
std::optional<Array> compared_with_number(const char* function, const Operand& x, const Operand& y,
                                          Comparison kind);
/// Whether one is uint64 and the other has a sign: no integer dtype holds both.
bool differ_in_sign(const Type& x, const Type& y);
/// The comparison `f` of two such, exactly.
Value compare_64_bits(const char* function, Value x, Value y, Value (*f)(Value, Value),
                      Comparison kind);
/// Whether a weak integer whose value is not known is beside another dtype of integers, which may
/// not hold it.
bool weak_beside_integer(const Type& x, const Type& y);

}  // namespace tessera::inline v0::detail
