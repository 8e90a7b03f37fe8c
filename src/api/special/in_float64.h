// Special functions composed of other functions and computed in float64.
#pragma once

#include "api/numpy/array_helpers.h"

#include <tessera/constants.h>
#include <tessera/operators.h>
#include <tessera/special.h>

namespace tessera::inline v0::detail {

/// Applies f to the operands in float64, broadcast to one shape, and rounds the result to the
/// floating dtype that the operands promote to. Throws DTypeError, naming `name`, for complex
/// operands.
using Float64Function = std::function<Array(std::span<const Array>)>;
Array in_float64(const char* name, std::initializer_list<Operand> operands,
                 const Float64Function& f);
/// As above; f is told whether the result is narrower than float64, so that double-double
/// arithmetic can be skipped.
using Float64FunctionFor = std::function<Array(std::span<const Array>, bool narrow)>;
Array in_float64(const char* name, std::initializer_list<Operand> operands,
                 const Float64FunctionFor& f);
/// As above for an f with several results.
using Float64Functions = std::function<std::vector<Array>(std::span<const Array>, bool narrow)>;
std::vector<Array> several_in_float64(const char* name, std::initializer_list<Operand> operands,
                                      const Float64Functions& f);

/// A zero from which a loop over the elements of x counts; it varies over the same devices as x. It
/// is 0 even if x contains NaN or infinities, or its sum would overflow.
Array count_over(const Array& x);

/// c[0] + c[1] x + ... by Horner's rule.
Array series(const Array& x, std::span<const double> c);

}  // namespace tessera::inline v0::detail
