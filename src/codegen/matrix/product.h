// Products of matrices by the kernels of micro_kernel.h: how k is divided into chunks, which
// operands are packed and when, and the order of the blocks.
//
// The sum of an element is the same whatever is decided here. The terms of k are cut into chunks
// whose length follows from k alone. The terms of a chunk are added in order, by fused
// multiply-adds that begin with zero, and the sums of the chunks are added in order. So an element
// has the same bits in a product of one row and of a thousand, in each batch, on any number of
// workers, and on all processors with fused multiply-adds.
#pragma once

#include "codegen/matrix/micro_kernel.h"
#include "codegen/matrix/packing.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

/// The length of the chunks into which `k` terms are cut.
std::int64_t chunk_of(std::int64_t k);

/// Distances in an operand between elements: of steps of k, and of lines (rows of A, columns of B).
struct Distances {
  std::int64_t step, line;
};

/// A product C = A B of row-major C, of which tasks compute blocks.
struct Problem {
  DType operand = DType::float32;  // of A and B in memory
  DType dtype = DType::float32;    // of C, and that in which products and sums are computed
  std::int64_t m, n, k;
  Distances a, b;
  std::int64_t row_block, column_block;  // the largest blocks of tasks
  /// If nonzero, a task computes its block in parts of so many rows.
  std::int64_t part_rows = 0;
};

/// Part of a product: m rows, n columns and k steps from the given positions on.
struct Part {
  const void *a, *b;  // their first elements
  void* c;
  std::int64_t c_row;  // distance of rows in elements
  std::int64_t m, n, k;
  /// The panels of the whole B that `share` made, or nullptr, and the part's first column in it.
  const void* shared = nullptr;
  std::int64_t column = 0;
};

class Product {
 public:
  explicit Product(const Problem& problem);

  /// Whether B should be packed once for all tasks, in a stage before them.
  bool shares_b() const { return b_ == How::shared; }
  /// The size of the packed B, and the tasks into which packing is divided.
  std::size_t shared_bytes() const;
  std::int64_t shared_tasks() const;
  void share(const void* b, void* to, std::int64_t task) const;

  /// Computes a part on this thread.
  void run(const Part& part) const;

 private:
  enum class How { in_place, in_task, shared };
  struct Heights;
  struct Panels;
  struct Packing;

  std::int64_t size() const { return static_cast<std::int64_t>(size_of(problem_.dtype)); }
  std::int64_t operand_size() const { return static_cast<std::int64_t>(size_of(problem_.operand)); }
  std::int64_t width() const { return vectors_ * lanes_; }
  void prepare_rows(std::int64_t m);
  void pack(const Packing& packing, const void* from, std::int64_t available, std::int64_t panels,
            std::int64_t steps, void* to) const;
  void multiply(const Heights& heights, std::int64_t first, std::int64_t last, const Panels& a,
                const Panels& b, std::int64_t steps, std::int64_t n, char* c, std::int64_t c_row,
                Begin begin, End end) const;
  void multiply_rows(const Part& part, const Panels& b, std::int64_t first_step, std::int64_t steps,
                     std::int64_t n, char* c, std::int64_t c_row, Begin begin, End end) const;
  void run_streaming(const Part& part) const;
  void run_by_lines(const Part& part) const;
  void add(void* to, std::int64_t to_row, const void* from, std::int64_t from_row, std::int64_t m,
           std::int64_t n) const;

  const Problem problem_;
  const int lanes_;
  int vectors_ = kTileVectors;
  How a_ = How::in_place, b_ = How::in_place;
  /// B is read once, a few steps at a time over many columns.
  bool streaming_ = false;
  bool by_lines_ = false;          // the same for one row and lines of B
  std::int64_t column_group_ = 0;  // columns whose panels stay in the second-level cache
  PackKernel pack_a_ = nullptr, pack_b_ = nullptr;
  PackKernel pack_b2_ = nullptr;  // of two vectors of lines, if lines are adjacent
  /// By the height of a tile: for whole tiles, and for the last one of a row, by its vectors less
  /// one and whether the last one is partial.
  struct OfHeight {
    TileKernel whole = nullptr;
    TileKernel last[8][2] = {};
  };
  std::vector<OfHeight> kernels_;
};

}  // namespace tessera::inline v0::codegen::matrix
