// Bare C++ integers that meet an integer dtype: it holds them, or the call is refused. Their value
// is known outside of programs only, so this is asked of arrays, before a function traces or
// compiles.
#pragma once

#include "api/array/array_impl.h"

#include <initializer_list>
#include <span>
#include <string>

namespace tessera::inline v0::detail {

/// DTypeError in the name of `function` where `x` is a bare integer, or a weak one of 64 bits, that
/// `dtype` does not hold. Floats and booleans hold every number.
void check_fits(const char* function, const Operand& x, DType dtype);
/// What an array takes in: as check_fits in the array's dtype, and integers take no floats.
void check_stored(const char* function, const Array& into, const Operand& x);
/// As check_fits, for each of the operands in the dtype that they promote to.
void check_all_fit(const char* function, std::initializer_list<const Operand*> operands);
void check_all_fit(const char* function, std::span<const Array> operands, std::source_location loc);

/// The least and the largest value of an integer dtype, as text.
struct Limits {
  std::string least, most;
};
Limits limits_of(DType dtype);

/// A bare integer as text.
std::string number_text(const ArrayImpl& number);
/// Where a bare integer lies to the range of an integer dtype: below (-1), in it (0), above (1).
int side_of_range(const ArrayImpl& number, DType dtype);
/// Whether it is a bare C++ integer.
bool is_integer_number(const Array& x);

}  // namespace tessera::inline v0::detail
