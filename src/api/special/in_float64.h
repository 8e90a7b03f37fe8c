// Special functions that are made of others, computed in float64.
#pragma once

#include "api/numpy/array_helpers.h"

#include <tessera/constants.h>
#include <tessera/operators.h>
#include <tessera/special.h>

namespace tessera::inline v0::detail {

/// f of the operands in float64 and in one shape, rounded to the floating dtype that they promote
/// to. DTypeError in the name of `name` for complex operands.
using Float64Function = std::function<Array(std::span<const Array>)>;
Array in_float64(const char* name, std::initializer_list<Operand> operands,
                 const Float64Function& f);
/// The same of an f that is told whether the result is narrower than a double, for which what
/// doubles alone give is near enough.
using Float64FunctionFor = std::function<Array(std::span<const Array>, bool narrow)>;
Array in_float64(const char* name, std::initializer_list<Operand> operands,
                 const Float64FunctionFor& f);
/// Of an f that has several results.
using Float64Functions = std::function<std::vector<Array>(std::span<const Array>, bool narrow)>;
std::vector<Array> several_in_float64(const char* name, std::initializer_list<Operand> operands,
                                      const Float64Functions& f);

/// What a loop over the elements of x counts from: 0, and as different between devices as x is; also
/// where x has NaN or infinities, or sums beyond the range.
Array count_over(const Array& x);

/// c[0] + c[1] x + ... by Horner's rule.
Array series(const Array& x, std::span<const double> c);

}  // namespace tessera::inline v0::detail
