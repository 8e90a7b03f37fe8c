// Products of matrices by the kernels of micro_kernel.h: how k is divided into chunks, which
// operands are packed and when, and the order of the blocks.
//
// None of these decisions changes the sum of an element. The terms of k are divided into chunks
// whose length depends on k alone. The terms of a chunk are added in order, by fused multiply-adds
// that begin with zero, and the sums of the chunks are added in order. So an element has the same
// bits in a product of one row and of a thousand, in each batch, on any number of workers, and on
// all processors with fused multiply-adds. Pairs of bfloat16 are added in the same order, a pair at
// a time. Integers are exact, modulo the width of the sum. A matrix unit has another order
// (unit_kernel.h).
//
// Products of fewer than 8 rows with lines of B whose steps are adjacent have the order of
// line_kernel.h instead, which also follows from k alone.
#pragma once

#include "codegen/matrix/line_kernel.h"
#include "codegen/matrix/micro_kernel.h"
#include "codegen/matrix/packing.h"
#include "codegen/matrix/unit_kernel.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

/// The length, in words, of the chunks into which `k` terms are divided.
std::int64_t chunk_of(std::int64_t k, Terms terms = Terms::single);

/// A product C = A B of row-major C, of which tasks compute blocks.
struct Problem {
  DType operand = DType::float32;  // of A and B in memory
  Kind kind;                       // C has the dtype of the sums
  std::int64_t m, n, k;
  Distances a, b;
  std::int64_t row_block, column_block;  // the largest blocks of tasks
  /// If nonzero, a task computes its block in parts of this many rows.
  std::int64_t part_rows = 0;
  /// The dtypes in which A and B are stored. Narrower elements are converted to `operand`.
  DType a_element = operand, b_element = operand;
  /// Forbids the order of additions of line_kernel.h.
  bool in_order = false;
  /// All of B is packed in panels (Product::share), however few rows there are.
  bool panels_given = false;
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

/// Whether the product has the order of line_kernel.h.
bool adds_by_lines(const Problem& problem);

struct Heights;
class UnitProduct;

class Product {
 public:
  explicit Product(const Problem& problem);

  /// Whether the product is faster if it is given B in panels that are kept between calls.
  bool gains_by_panels() const { return gains_by_panels_; }
  /// The width of the panels, which together with B's type and strides determines the order of
  /// elements in them.
  std::int64_t panel_width() const { return unit_ ? kUnitBlockColumns : width(); }
  /// The rows of the largest tile.
  std::int64_t tile_rows() const { return unit_ ? kUnitBlockRows : most_rows(); }
  /// Whether B should be packed once for all tasks, in a stage before them.
  bool shares_b() const;
  /// The size of the packed B, and the tasks into which packing is divided.
  std::size_t shared_bytes() const;
  std::int64_t shared_tasks() const;
  void share(const void* b, void* to, std::int64_t task) const;

  /// Computes a part on this thread.
  void run(const Part& part) const;
  /// Computes sums a stretch of k at a time: `part` holds the steps from `first` on. The stretches
  /// must come in order. `sums` is memory for m * n sums whose contents are kept between the calls,
  /// or nullptr if all steps are one chunk. Products by lines, and products with several steps per
  /// word, do not support this.
  void run_stretch(const Part& part, std::int64_t first, void* sums) const;

 private:
  enum class How { in_place, in_task, shared };
  struct Panels;
  struct Packing;

  // Of an element of C, and of a word.
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(problem_.kind.sum)); }
  std::int64_t a_size() const { return static_cast<std::int64_t>(size_of(problem_.a_element)); }
  std::int64_t b_size() const { return static_cast<std::int64_t>(size_of(problem_.b_element)); }
  std::int64_t words(std::int64_t steps) const {
    const std::int64_t each = steps_of(problem_.kind.terms);
    return (steps + each - 1) / each;
  }
  std::int64_t width() const { return vectors_ * lanes_; }
  void prepare_rows(std::int64_t m);
  Panels panels_of_b(const Part& part, std::int64_t step, std::int64_t steps, std::int64_t column,
                     std::int64_t columns) const;
  void pack(const Packing& packing, const void* from, std::int64_t available, std::int64_t panels,
            std::int64_t steps, void* to) const;
  void multiply(const Heights& heights, std::int64_t first, std::int64_t last, const Panels& a,
                const Panels& b, std::int64_t steps, std::int64_t n, char* c, std::int64_t c_row,
                Begin begin, End end) const;
  const std::int32_t* sums_of_rows(const Heights& heights, std::int64_t first, std::int64_t last,
                                   const Panels& a, std::int64_t steps) const;
  void multiply_rows(const Part& part, const Panels& b, std::int64_t first_step, std::int64_t steps,
                     std::int64_t n, char* c, std::int64_t c_row, Begin begin, End end) const;
  void run_streaming(const Part& part) const;
  void run_by_lines(const Part& part) const;
  void add(void* to, std::int64_t to_row, const void* from, std::int64_t from_row, std::int64_t m,
           std::int64_t n) const;

  const Problem problem_;
  const int lanes_;
  int vectors_;
  How a_ = How::in_place, b_ = How::in_place;
  /// B is streamed: it is read once, a few steps at a time over many columns.
  bool streaming_ = false;
  bool by_lines_ = false;  // see adds_by_lines
  bool gains_by_panels_ = false;
  std::int64_t column_group_ = 0;         // columns whose panels stay in the second-level cache
  LineKernel lines_[kLineRows + 1] = {};  // by rows
  PackKernel pack_a_ = nullptr, pack_b_ = nullptr;
  PackKernel pack_b2_ = nullptr;  // of two vectors of lines, if lines are adjacent
  /// By the height of a tile: for whole tiles, and for the last one of a row, by its vectors less
  /// one and whether the last one is partial.
  struct OfHeight {
    TileKernel whole = nullptr;
    TileKernel last[8][2] = {};
    TileKernel sums = nullptr;  // of the rows of A, for Terms::quads_int8
  };
  std::vector<OfHeight> kernels_;
  std::shared_ptr<const UnitProduct> unit_;  // which computes everything if the terms are a unit's
};

}  // namespace tessera::inline v0::codegen::matrix
