// Where all randomness comes from: keys, and the bits that Threefry gives for one (Salmon et al.
// 2011). What the distributions are made of.
#pragma once

#include "api/trace/composite.h"

namespace tessera::inline v0::random {

/// ShapeError naming `name` unless it is one key.
void check_key(const char* name, const Operand& key);

/// Unsigned integers of any width, each bit random.
Value bits_value(Value key, const Shape& shape, DType dtype);
/// n keys that differ.
Values split_value(Value key, std::int64_t n);
/// Uniform in [0, 1): random mantissa bits under the exponent of 1, minus 1.
Value unit(Value key, const Shape& shape, DType dtype);

}  // namespace tessera::inline v0::random
