// Counter-based generators of random bits.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// The Philox-4x32 block with ten rounds, elementwise over six uint32 arrays of one shape (two key
/// words and four counter words); four results. op "philox4x32"
Values philox4x32(std::span<const Value> key_and_counter);

enum class BitGenerator { three_fry, philox };
/// StableHLO's rng_bit_generator with XLA's bits. The state is two uint64 (optionally three for
/// Philox): a key, then a counter. Returns the next state and an array of uniform bits. Throws
/// DTypeError and ShapeError.
Values rng_bit_generator(Value state, const Shape& shape, DType dtype, BitGenerator algorithm);

}  // namespace tessera::inline v0::ops
