// Whether a value is a view of another one: the same elements in another order, possibly repeated
// and converted to a wider dtype.
#pragma once

#include "ir/program.h"

#include <optional>
#include <vector>

namespace tessera::inline v0::codegen {

/// An operand that is not stored. Its elements are those of another array, possibly permuted,
/// repeated, and converted to the operand's dtype, which represents them exactly.
struct OperandView {
  struct Part {
    std::int64_t extent = 1, stride = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  DType dtype = DType::float32;  // of the array
  /// For each dimension of the operand, the dimensions into which it is split, outermost first.
  /// Strides are distances in elements of the array.
  std::vector<std::vector<Part>> dims;
  std::int64_t first = 0;  // position in the array of the operand's first element
};

/// Whether every value of `from` is a value of `to`, which has more bytes.
bool widens(DType from, DType to);

/// The view of the program's only input that the only output of a program of emitted ops is, found
/// by running the ops' emit rules; nothing if it is not a view.
std::optional<OperandView> view_of(const Program& p);

}  // namespace tessera::inline v0::codegen
