// The terms of a sum of products: how elements of the operands form words, and the instructions
// that add the products of two words to a sum.
//
// A word holds as many steps of k as the processor multiplies and adds at once: one of float32, two
// of bfloat16, four of int8. Panels (packing.h) and tiles (micro_kernel.h) are arrays of words, of
// the size of an element of the result, so both are the same for all kinds of products.
#pragma once

#include "ir/program.h"

#include <cstdint>

namespace tessera::inline v0::codegen::matrix {

enum class Terms : std::int64_t {
  single,         // one element, converted to the dtype of the sum
  pairs_int16,    // two int16, with sums of int32
  quads_int8,     // four int8, to which 128 is added in B, with sums of int32
  pairs_bfloat16  // two bfloat16, with sums of float32
};

/// What is added, and in which dtype.
struct Kind {
  DType sum = DType::float32;
  Terms terms = Terms::single;
  friend bool operator==(const Kind&, const Kind&) = default;
};

/// The parts of a number. A word of complex numbers has its real part in one vector of a panel of
/// B, and its imaginary part in the next one.
constexpr int parts_in(const Kind& kind) { return is_complex(kind.sum) ? 2 : 1; }
/// Steps of k in a word.
constexpr int steps_of(Terms terms) {
  return terms == Terms::single ? 1 : terms == Terms::quads_int8 ? 4 : 2;
}
/// The number of words of a vector register, or of parts of words.
int lanes_of(DType sum);

/// The fastest kind for integers of a dtype that are summed in `sum`, which is int32 or int64. All
/// give the same sums, modulo the width of the sum.
Kind integer_kind(DType operand, DType sum);
/// Whether products of bfloat16 can be pairs_bfloat16.
bool has_bfloat16_pairs();

}  // namespace tessera::inline v0::codegen::matrix
