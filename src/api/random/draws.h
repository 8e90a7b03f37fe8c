// Basic draws on values, from which the distributions are composed.
#pragma once

#include "api/random/random_bits.h"

namespace tessera::inline v0::random {

/// Uniform in [lo, hi); `lo` and `hi` broadcast to the shape.
Value uniform_value(Value key, const Shape& shape, DType dtype, Value lo, Value hi);
Value uniform_between(Value key, const Shape& shape, DType dtype, double lo, double hi);
/// Standard normal distribution.
Value normal_value(Value key, const Shape& shape, DType dtype);
/// Exponential distribution of rate 1.
Value exponential_value(Value key, const Shape& shape, DType dtype);
/// The smallest positive normal number of a dtype.
double tiny(DType d);
/// Throws DTypeError, naming `name`, unless the dtype is floating.
void check_float(const char* name, DType d, const Operand& key);

}  // namespace tessera::inline v0::random
