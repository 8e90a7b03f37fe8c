// Copies of operands in the order in which a product reads them: panels of a few rows of A, or
// columns of B ("lines"), in which the words of the same steps of k are adjacent.
//
// Elements are converted and made into words (terms.h) on the way. The loops are compiled for this
// processor, as those of the products are.
#pragma once

#include "codegen/kernel/shared_code.h"
#include "codegen/matrix/terms.h"

#include <cstdint>

namespace tessera::inline v0::codegen::matrix {

/// Which elements of the operand are adjacent in memory.
enum class Adjacent {
  lines,   // those of one step of k: copied vector by vector
  steps,   // those of one line: transposed in registers
  neither  // gathered one by one
};

struct Packer {
  DType from = DType::float32;
  Kind kind;
  /// B, to whose int8 elements 128 is added, and whose complex numbers are split into parts.
  bool right = false;
  Adjacent adjacent = Adjacent::lines;
  /// The vectors of lines that are copied side by side; more than one only if lines are adjacent,
  /// and only if all of their lines exist.
  int vectors = 1;
};

/// Arguments of a packing loop, which copies `panels` panels of `vectors` vectors of lines.
/// Distances are in bytes; `to_step` is that of words. If `lines` is smaller than a vector, the
/// vector's other elements are unspecified.
struct PackArgs {
  const void* from;
  void* to;
  std::int64_t from_step, from_line, from_panel;
  std::int64_t to_step, to_panel;
  std::int64_t steps, panels, lines;  // a last word that has too few steps is filled with zeros
  const void* vector = nullptr;       // with an element per step, if the loop multiplies
};
using PackKernel = void (*)(const PackArgs*);

/// The loop, which is a PackKernel.
SharedFunction pack_function(const Packer& packer);
/// Compiles the loop, or finds it. Thread-safe.
PackKernel pack_kernel(const Packer& packer);

}  // namespace tessera::inline v0::codegen::matrix
