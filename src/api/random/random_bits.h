// The source of all random numbers: keys, and the bits that Threefry (Salmon et al. 2011) generates
// from a key. All distributions are built on them.
#pragma once

#include "api/trace/composite.h"

namespace tessera::inline v0::random {

/// Throws ShapeError, naming `name`, unless the operand is a single key.
void check_key(const char* name, const Operand& key);

/// Unsigned integers of any width with independent random bits.
Value bits_value(Value key, const Shape& shape, DType dtype);
/// n distinct keys.
Values split_value(Value key, std::int64_t n);
/// Uniform in [0, 1), formed from random mantissa bits with the exponent of 1, minus 1.
Value unit(Value key, const Shape& shape, DType dtype);

}  // namespace tessera::inline v0::random
