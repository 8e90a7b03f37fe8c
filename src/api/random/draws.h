// Draws that distributions are made of, on values.
#pragma once

#include "api/random/random_bits.h"

namespace tessera::inline v0::random {

/// Uniform in [lo, hi), which broadcast to the shape.
Value uniform_value(Value key, const Shape& shape, DType dtype, Value lo, Value hi);
Value uniform_between(Value key, const Shape& shape, DType dtype, double lo, double hi);
/// Standard normal.
Value normal_value(Value key, const Shape& shape, DType dtype);
/// Exponential of rate 1.
Value exponential_value(Value key, const Shape& shape, DType dtype);
/// The least positive normal number of a dtype.
double tiny(DType d);
/// DTypeError naming `name` unless the dtype is floating.
void check_float(const char* name, DType d, const Operand& key);

}  // namespace tessera::inline v0::random
