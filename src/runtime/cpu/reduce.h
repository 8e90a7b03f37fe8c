// Elementwise reduction of several blocks into one.
#pragma once

#include <tessera/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::inline v0::runtime {

enum class Reduction { sum, max, min };

/// The type that elements are combined in: float32 for 16-bit floats, their own for others.
DType accumulated_in(DType dtype);
/// Halves of operands may be combined on their own first: `halves` writes what accumulates, `rest`
/// reads it.
enum class ReduceStage { whole, halves, rest };

/// out[i] = in[0][i] op in[1][i] op ..., in one pass: halves of an even number of operands are
/// combined each on its own, then with each other; an odd number from left to right. 16-bit floats
/// are accumulated in float32 and rounded once; integers wrap; max and min give NaN where any
/// operand is NaN; on booleans they are or and and.
void reduce(Reduction op, DType dtype, std::span<const std::byte* const> in, std::byte* out,
            std::int64_t count, ReduceStage stage = ReduceStage::whole);

}  // namespace tessera::inline v0::runtime
