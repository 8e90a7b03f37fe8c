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
  /// Packs B. If so, 128 is added to int8 elements, and complex numbers are split into parts.
  bool right = false;
  Adjacent adjacent = Adjacent::lines;
  /// The number of vectors of lines that are copied side by side. It may exceed one only if lines
  /// are adjacent and all lines of the vectors exist.
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

/// Distances in an operand between elements: of steps of k, and of lines (rows of A, columns of B).
struct Distances {
  std::int64_t step, line;
};
inline Adjacent adjacent_in(const Distances& d) {
  return d.line == 1 ? Adjacent::lines : d.step == 1 ? Adjacent::steps : Adjacent::neither;
}

/// How lines are copied into panels of `width` lines. In a panel, the words of a step are adjacent.
/// Each panel begins `each` lines after the previous one.
struct Panelling {
  PackKernel kernel, two_vectors;  // the latter copies two vectors of lines, or is null
  Distances distances;
  std::int64_t element;  // size in bytes
  std::int64_t each, width;
  std::int64_t lanes, word;  // lines of a vector, and the size of a word in bytes
  Terms terms;
  std::int64_t panel_words;  // from one panel to the next
};

/// Copies `steps` steps of some panels. `available` lines exist; lines past a panel's own may be
/// copied as well.
void pack_panels(const Panelling& p, const void* from, std::int64_t available, std::int64_t panels,
                 std::int64_t steps, void* to);

}  // namespace tessera::inline v0::codegen::matrix
