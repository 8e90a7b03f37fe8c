// Products of a few rows with columns of B ("lines") whose steps of k are adjacent in memory, such
// as a vector times a transposed matrix. Vector lanes hold steps of k, so that nothing has to be
// transposed.
//
// The sum of an element has kLineSums partial sums of words: word i is added to sum i % kLineSums,
// in order. Halves of the partial sums are then added until one is left. So the order follows from
// k alone, and is the same for all numbers of rows and all widths of registers.
#pragma once

#include "codegen/kernel/shared_code.h"
#include "codegen/matrix/terms.h"

#include <cstdint>

namespace tessera::inline v0::codegen::matrix {

inline constexpr int kLineSums = 16;
/// The maximum number of rows of a kernel.
inline constexpr int kLineRows = 7;
/// The number of words of a line in a chunk. The sum of a chunk is added to the result before the
/// next one begins.
inline constexpr std::int64_t kLineChunk = 8192;

struct Lines {
  Kind kind;  // not a complex one
  DType element = DType::float32;
  int rows = 1;
};

/// Arguments of a kernel. Distances are in bytes.
struct LineArgs {
  const void *a, *b;  // A in words, padded with zeros to a multiple of kLineSums
  void* c;
  std::int64_t a_row, b_line, c_row;
  std::int64_t turns, rest;  // groups of kLineSums words, and the elements after them
  std::int64_t lines;
  std::int64_t add = 0;                 // whether sums are added to the result
  const std::int32_t* minus = nullptr;  // see TileArgs
};
using LineKernel = void (*)(const LineArgs*);

/// Copies a row of A as words: `count` elements that are `step` apart, and zeros up to `padded`.
void copy_line(const Kind& kind, DType element, const void* from, std::int64_t step,
               std::int64_t count, std::int64_t padded, void* to);

/// The kernel, which is a LineKernel.
SharedFunction line_function(const Lines& lines);
/// Compiles the kernel, or finds it. Thread-safe.
LineKernel line_kernel(const Lines& lines);

}  // namespace tessera::inline v0::codegen::matrix
