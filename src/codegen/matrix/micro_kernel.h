// The inner loop of matrix products: a tile of the result stays in registers while the terms of a
// stretch of k are added to it.
//
// A tile is described as data. Those of float32 are compiled when the library is built (common.h),
// the others for this processor when they are first needed. All sizes that belong to a product (k,
// strides, the number of tiles in a row) are arguments, so a few kernels serve all products. The
// sum of one element is a chain of fused multiply-adds in the order of k. It does not depend on the
// tile, so all kernels and all processors with fused multiply-adds give the same bits.
#pragma once

#include "codegen/kernel/shared_code.h"
#include "ir/program.h"

#include <cstdint>

namespace tessera::inline v0::codegen::matrix {

/// How a kernel finds the elements of A. It reads one at a time and multiplies a row of B by it.
enum class ReadA {
  by_rows,  // steps of k are adjacent, rows `a_step` apart: a row-major matrix in place
  by_steps  // rows are adjacent, steps of k `a_step` apart: a packed panel or a transposed matrix
};

struct Tile {
  DType dtype = DType::float32;
  int rows = 1;
  int vectors = 1;       // in a row of the tile
  bool partial = false;  // only the first `lanes` elements of a row's last vector exist
  ReadA read_a = ReadA::by_rows;
};

/// The value with which a sum begins, and whether it replaces the result or is added to it.
enum class Begin : std::int64_t { zero, result };
enum class End : std::int64_t { store, add };

/// Arguments of a kernel, which computes `tiles` tiles that are adjacent in a row. Distances are in
/// bytes.
struct TileArgs {
  const void *a, *b;
  void* c;
  std::int64_t a_step;          // see ReadA
  std::int64_t b_step, b_tile;  // from one step of k, and from one tile, to the next
  /// How far ahead B is fetched. Processors foresee the next lines of a packed panel, but not those
  /// of rows that are far apart.
  std::int64_t b_ahead;
  std::int64_t c_row;
  std::int64_t k, tiles;
  Begin begin = Begin::zero;
  End end = End::store;
  std::int64_t lanes = 0;
};
using TileKernel = void (*)(const TileArgs*);

/// The number of elements of a vector register.
int lanes_of(DType dtype);
/// The shape of the tile for large products: as many rows, of two vectors, as the registers hold.
inline constexpr int kTileVectors = 2;
int most_rows();
/// The most vectors that a tile of so few rows may have in a row.
int most_vectors(int rows);

/// The kernel of a tile, which is a TileKernel.
SharedFunction tile_function(const Tile& tile);
/// Compiles the kernel of a tile, or finds it. Thread-safe.
TileKernel tile_kernel(const Tile& tile);

}  // namespace tessera::inline v0::codegen::matrix
