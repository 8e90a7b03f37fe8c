// The inner loop of matrix products: a tile of the result stays in registers while the terms of a
// stretch of k are added to it.
//
// A tile is described as data. Those of float32 are compiled when the library is built (common.h),
// the others for this processor when they are first needed. All sizes that belong to a product (k,
// strides, the number of tiles in a row) are arguments, so a few kernels serve all products. The
// sum of one element is a chain of multiply-adds in the order of k. It does not depend on the tile,
// so all kernels give the same bits, and with Terms::single all processors with fused multiply-adds
// as well.
#pragma once

#include "codegen/kernel/shared_code.h"
#include "codegen/matrix/terms.h"

#include <cstdint>

namespace tessera::inline v0::codegen::matrix {

/// How a kernel finds the words of A. It reads one at a time and multiplies a row of B by it.
enum class ReadA {
  by_rows,  // steps of k are adjacent, rows `a_step` apart: a row-major matrix in place
  by_steps  // rows are adjacent, steps of k `a_step` apart: a packed panel or a transposed matrix
};
/// How a kernel finds the words of B.
enum class ReadB {
  words,    // adjacent columns are adjacent words: a packed panel
  elements  // a row-major matrix in place, whose elements are made into words in registers
};

struct Tile {
  Kind kind;
  int rows = 1;
  int vectors = 1;       // in a row of the tile
  bool partial = false;  // only the first `lanes` elements of a row's last vector exist
  ReadA read_a = ReadA::by_rows;
  ReadB read_b = ReadB::words;
  DType b_element = DType::float32;  // of B in place
  /// B is prefetched although there are few rows.
  bool fetches = false;
  /// The steps of k are in runs (TileArgs::runs).
  bool in_runs = false;
};

/// The value with which a sum begins, and whether it replaces the result or is added to it.
enum class Begin : std::int64_t { zero, result };
enum class End : std::int64_t { store, add };

/// A run of evenly spaced steps of k. `a` and `b` are the byte offsets of its first step from the
/// first elements of A and B.
struct StepRun {
  std::int64_t a, b, steps;
};

/// Arguments of a kernel, which computes `tiles` tiles that are adjacent in a row. Distances are in
/// bytes.
struct TileArgs {
  const void *a, *b;
  void* c;
  std::int64_t a_step;          // see ReadA
  std::int64_t b_step, b_tile;  // from one row of words or elements, and one tile, to the next
  /// How far ahead B is prefetched. Processors prefetch the next lines of a packed panel by
  /// themselves, but not those of rows that are far apart.
  std::int64_t b_ahead;
  std::int64_t c_row;
  std::int64_t k, tiles;  // `k` counts words, or runs
  Begin begin = Begin::zero;
  End end = End::store;
  std::int64_t lanes = 0;
  /// The number that is subtracted from each row's sums: 128 times the sum of the row of A, or
  /// zero. It is used only for Terms::quads_int8, where 128 is added to the elements of B.
  const std::int32_t* minus = nullptr;
  /// The runs of a tile whose steps lie in runs. There may be none.
  const StepRun* runs = nullptr;
};
using TileKernel = void (*)(const TileArgs*);

/// The shape of the tile for large products: as many rows of two vectors as the registers hold. For
/// complex numbers, the two vectors are the real and the imaginary parts.
inline constexpr int kTileVectors = 2;
int most_rows();
/// The maximum number of vectors per row in a tile of this many rows.
int most_vectors(int rows, int parts = 1);

/// The kernel of a tile, which is a TileKernel.
SharedFunction tile_function(const Tile& tile);
/// Compiles the kernel of a tile, or finds it. Thread-safe.
TileKernel tile_kernel(const Tile& tile);

}  // namespace tessera::inline v0::codegen::matrix
