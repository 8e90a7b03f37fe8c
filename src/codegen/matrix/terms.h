// The terms of a sum of products: how elements of the operands form words, and the instructions
// that add the products of two words to a sum.
//
// A word holds as many steps of k as the processor multiplies and adds at once: one of float32, two
// of bfloat16, four of int8. Panels (packing.h) and tiles (micro_kernel.h) are arrays of words, of
// the size of an element of the result, so both are the same for all kinds of products.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <optional>

namespace tessera::inline v0::codegen::matrix {

enum class Terms : std::int64_t {
  single,          // one element, converted to the dtype of the sum
  pairs_int16,     // two int16, with sums of int32
  quads_int8,      // four int8, to which 128 is added in B, with sums of int32
  pairs_bfloat16,  // two bfloat16, with sums of float32
  // The terms of a matrix unit, which has separate loops (unit_kernel.h).
  unit_bfloat16,  // two bfloat16, with sums of float32
  unit_float16,   // two float16, with sums of float32
  unit_int8,      // four int8, with sums of int32
  unit_uint8      // four uint8, with sums of int32
};

/// Whether a matrix unit adds the terms.
constexpr bool on_unit(Terms terms) { return terms >= Terms::unit_bfloat16; }

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
  switch (terms) {
    case Terms::single: return 1;
    case Terms::quads_int8:
    case Terms::unit_int8:
    case Terms::unit_uint8: return 4;
    default: return 2;
  }
}
/// The number of words (of complex numbers: of parts of words) that a vector register holds.
int lanes_of(DType sum);

/// The fastest kind for integers of a dtype that are summed in `sum`, which is int32 or int64. All
/// give the same sums, modulo the width of the sum.
Kind integer_kind(DType operand, DType sum);
/// Whether products of bfloat16 can be pairs_bfloat16.
bool has_bfloat16_pairs();
/// The terms of a matrix unit for operands of a dtype that are summed in `sum`, if this processor
/// has such a unit and the system lets this process use it.
std::optional<Terms> unit_terms(DType operand, DType sum);

}  // namespace tessera::inline v0::codegen::matrix
