// The schedule of a matrix product: where its operands are in memory, and how the result, the batch
// and the sum are divided. It depends on shapes alone. Private to the matrix product.
#pragma once

#include "codegen/calls/matrix_operand.h"
#include "codegen/calls/views.h"
#include "codegen/matrix/product.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::inline v0::codegen {

struct DotSchedule {
  Matrix lhs, rhs;
  Ints lhs_contracting, rhs_contracting;  // in the order in which they are traversed
  DType operand, result;
  matrix::Kind kind;
  std::int64_t m, n, k, batch;
  std::int64_t row_block, column_block;  // size of a task's part of the result
  std::int64_t batch_block;
  std::size_t result_scratch = 0;
  bool narrow = false;
  bool over_rows = false;    // contracts the leading dimensions of both operands
  bool narrow_side = false;  // see cut_narrow
  int halvings = 0;          // of the rows that are summed
  std::size_t sums_scratch = 0, sums_stride = 0;
  // A product with one column is computed as the
  // product of the transposed operands, which has one row.
  std::shared_ptr<const matrix::Product> own;
  bool turned = false;
  std::size_t shared = 0;     // offset of the right operands that `own` packs for all tasks
  bool panels_given = false;  // they are the kept form of the right operand
  bool widened = false;   // operands are converted to the dtype of the sums before anything else
  bool in_order = false;  // see matrix::Problem

  bool turns() const { return n == 1 && m > 1; }
  /// The time of one matrix of the batch on a core that performs `rate` operations per second.
  double seconds_of_one(double rate) const;
  matrix::Distances lhs_distances() const {
    return lhs.transposed ? matrix::Distances{lhs.leading, 1} : matrix::Distances{1, lhs.leading};
  }
  matrix::Distances rhs_distances() const {
    return rhs.transposed ? matrix::Distances{1, rhs.leading} : matrix::Distances{rhs.leading, 1};
  }
  /// The size in bytes of an operand's element as it is multiplied.
  std::int64_t size_in(const Matrix& x) const {
    return static_cast<std::int64_t>(size_of(widened ? kind.sum : x.element));
  }
  std::int64_t sum_size() const { return static_cast<std::int64_t>(size_of(kind.sum)); }
  std::int64_t row_parts() const { return (m + row_block - 1) / row_block; }
  std::int64_t column_parts() const { return (n + column_block - 1) / column_block; }
  std::int64_t batch_parts() const { return (batch + batch_block - 1) / batch_block; }
  std::int64_t tasks() const { return row_parts() * column_parts() * batch_parts(); }
};

// A task's part of the result.
struct Block {
  std::int64_t row, column, m, n, first, last;  // `first` and `last` are positions in the batch
  bool last_row, last_column;
};

Block block_of(const DotSchedule& p, std::int64_t task);

/// The schedule without the parts that `cut` and the functions after it decide. Operands with views
/// are arranged as if they were stored.
DotSchedule arrange(const CallArgs& a);
/// Makes operands with views refer to the arrays that they view. Returns false if the product
/// cannot read them there, or if that would change the bits.
bool read_views(DotSchedule& p, const CallArgs& a, OperandViews views);
void cut(DotSchedule& p);
void cut_narrow(DotSchedule& p);
bool better_as_loops(const DotSchedule& p);
matrix::Problem problem_of(const DotSchedule& p, std::int64_t part_rows = 0);
/// The product by our own kernels; `p` must have its blocks already. `part_rows`: see Problem.
std::shared_ptr<const matrix::Product> own_product(DotSchedule& p, std::int64_t part_rows = 0);

/// The offset in elements of a row (of the left operand) or a column (of the right one) of matrix
/// `b` of the batch.
inline std::int64_t lhs_offset(const DotSchedule& p, std::int64_t b, std::int64_t row) {
  return p.lhs.offsets[b] + row * (p.lhs.transposed ? 1 : p.lhs.leading);
}
inline std::int64_t rhs_offset(const DotSchedule& p, std::int64_t b, std::int64_t column) {
  return p.rhs.offsets[b] + column * (p.rhs.transposed ? p.rhs.leading : 1);
}

inline const char* operand_bytes(const RoutineArgs& args, const Matrix& x, int i) {
  return x.in_scratch ? static_cast<const char*>(args.scratch) + x.scratch
                      : static_cast<const char*>(args.inputs[i]);
}

/// Packs the right operands once for all tasks.
Stage share_stage(const DotSchedule& p);
/// Rounds sums to the dtype of the result.
void narrow_sums(const DotSchedule& p, const char* from, char* to, std::int64_t count);

/// The product that reads an operand, the left or the right one, in panels (dot_reader.cc). `p` is
/// complete, except for its division into blocks and for the right operand that tasks share.
/// `strides`: see Routine::reads_panels. Null if the product cannot read panels, or if that would
/// not pay.
std::shared_ptr<const PanelReader> reader_of(DotSchedule p, bool left, const PanelMaker& maker,
                                             std::span<const std::int64_t> strides,
                                             std::vector<Stage> before, ScratchPlan scratch);

}  // namespace tessera::inline v0::codegen
