// Checks that bare C++ integers fit the integer dtype that they are combined with; calls with
// others are refused. Their values are known only outside programs, so arrays are checked before a
// function is traced or compiled.
#pragma once

#include "api/array/array_impl.h"

#include <initializer_list>
#include <span>
#include <string>

namespace tessera::inline v0::detail {

/// Throws DTypeError, naming `function`, if `x` is a bare integer, or a weak 64-bit one, that is
/// out of the range of `dtype`. Floating and boolean dtypes accept every number.
void check_fits(const char* function, const Operand& x, DType dtype);
/// As check_fits with the dtype of the array that `x` is stored into; integer arrays accept no
/// floats.
void check_stored(const char* function, const Array& into, const Operand& x);
/// As check_fits for each operand, with the dtype that all of them promote to.
void check_all_fit(const char* function, std::initializer_list<const Operand*> operands);
void check_all_fit(const char* function, std::span<const Array> operands, std::source_location loc);

/// The smallest and the largest value of an integer dtype, as text.
struct Limits {
  std::string least, most;
};
Limits limits_of(DType dtype);

/// A bare integer as text.
std::string number_text(const ArrayImpl& number);
/// The position of a bare integer relative to the range of an integer dtype: below (-1), inside
/// (0), above (1).
int side_of_range(const ArrayImpl& number, DType dtype);
/// Whether `x` is a bare C++ integer.
bool is_integer_number(const Array& x);

}  // namespace tessera::inline v0::detail
