// Elementwise reduction of several blocks into one.
#pragma once

#include <tessera/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::inline v0::runtime {

enum class Reduction { sum, max, min };

/// The type in which elements are combined: float32 for 16-bit floats, their own type for others.
DType accumulated_in(DType dtype);
/// Halves of the operands may be reduced separately first: `halves` writes results of the
/// accumulation type, and `rest` reads them.
enum class ReduceStage { whole, halves, rest };

/// out[i] = in[0][i] op in[1][i] op ..., in one pass. An even number of operands is split into
/// halves, which are combined separately and then with each other; an odd number is combined from
/// left to right. 16-bit floats are accumulated in float32 and rounded once; integers wrap; max and
/// min give NaN if any operand is NaN; on booleans they are `or` and `and`.
void reduce(Reduction op, DType dtype, std::span<const std::byte* const> in, std::byte* out,
            std::int64_t count, ReduceStage stage = ReduceStage::whole);

}  // namespace tessera::inline v0::runtime
