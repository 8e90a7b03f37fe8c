// Products of an operand that comes in panels: of its lines, which are rows or columns of the
// result, or of its steps, over which the product sums.
#include "codegen/calls/dot_schedule.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera::inline v0::codegen {
namespace {

// Whether the rows of the operand are the lines of its matrices, one after the other, with adjacent
// steps of k.
bool lines_are_rows(const Matrix& x, std::int64_t lines, std::int64_t k, bool transposed) {
  if (x.in_scratch || (lines > 1 && k > 1 && x.transposed != transposed)) return false;
  if (lines > 1 && (k > 1 ? x.leading != k : x.leading > 1)) return false;
  for (std::size_t b = 0; b < x.offsets.size(); ++b)
    if (x.offsets[b] != static_cast<std::int64_t>(b) * lines * k) return false;
  return true;
}

// The product of an operand that comes in panels of its lines: rows of the left or columns of the
// right operand, which are rows or columns of the result.
struct PanelProduct {
  DotSchedule p;
  bool left = false;             // the operand
  bool in_task = false;          // a task packs the other operand of a matrix for itself
  std::size_t shared_bytes = 0;  // of that operand in the task's memory
  std::int64_t lines = 0;        // of a matrix
  std::map<std::int64_t, std::shared_ptr<const matrix::Product>> by_lines = {};  // of the right one

  // Computes the part of the result for lines [line, line + count) of matrix b. `sums` is where
  // narrow results are added.
  void run(const RoutineArgs& args, const char* panel, std::int64_t b, std::int64_t line,
           std::int64_t count, char* packed, char* sums) const {
    const std::int64_t rows = left ? count : p.m, columns = left ? p.n : count,
                       first_row = left ? line : 0, first_column = left ? 0 : line;
    const std::int64_t at = (b * p.m + first_row) * p.n + first_column,
                       result_size = static_cast<std::int64_t>(size_of(p.result));
    char* const out = static_cast<char*>(args.outputs[0]) + at * result_size;
    char* const c = p.narrow ? sums : out;
    const std::int64_t c_row = p.narrow ? columns : p.n;
    if (p.turned) {
      // The only line of the right operand times the left one.
      const char* l = operand_bytes(args, p.lhs, 0) + lhs_offset(p, b, 0) * p.size_in(p.lhs);
      p.own->run({panel, l, c, p.m, 1, p.m, p.k});
    } else if (left) {
      const char* r = operand_bytes(args, p.rhs, 1) + rhs_offset(p, b, 0) * p.size_in(p.rhs);
      const char* shared = nullptr;
      if (in_task) {
        for (std::int64_t t = 0; line == 0 && t < p.own->shared_tasks(); ++t)
          p.own->share(r, packed, t);
        shared = packed;
      } else if (p.own->shares_b()) {
        shared = static_cast<const char*>(args.scratch) + p.shared +
                 static_cast<std::size_t>(b) * p.own->shared_bytes();
      }
      p.own->run({panel, r, c, c_row, rows, columns, p.k, shared, 0});
    } else {
      const char* l = operand_bytes(args, p.lhs, 0) + lhs_offset(p, b, 0) * p.size_in(p.lhs);
      by_lines.at(count)->run({l, panel, c, c_row, rows, columns, p.k});
    }
    if (!p.narrow) return;
    const bool together = columns == p.n || p.turned;
    for (std::int64_t i = 0; i < (together ? 1 : rows); ++i)
      narrow_sums(p, c + i * columns * p.sum_size(), out + i * p.n * result_size,
                  together ? rows * columns : columns);
  }
};

// Whether the rows of the operand are steps of k, one after the other, with adjacent lines.
bool steps_are_rows(const Matrix& x, std::int64_t lines, std::int64_t k, bool transposed) {
  if (x.in_scratch || lines <= 1 || k <= 1 || x.transposed != transposed || x.leading != lines)
    return false;
  for (std::size_t b = 0; b < x.offsets.size(); ++b)
    if (x.offsets[b] != static_cast<std::int64_t>(b) * lines * k) return false;
  return true;
}

// The product of an operand that comes in panels of its steps, over which it sums: each panel adds
// to the whole result of a matrix, in the order of the steps.
std::shared_ptr<const PanelReader> summing_reader_of(DotSchedule p, bool left,
                                                     const PanelMaker& maker,
                                                     std::vector<Stage> before,
                                                     ScratchPlan scratch) {
  const std::int64_t lines = left ? p.m : p.n;
  if (maker.columns != lines || maker.matrix_rows != p.k || maker.rows != p.batch * p.k ||
      maker.block_rows < p.k || p.narrow || p.turned || p.halvings ||
      matrix::steps_of(p.kind.terms) != 1 ||
      !steps_are_rows(left ? p.lhs : p.rhs, lines, p.k, left))
    return nullptr;
  p.row_block = p.m, p.column_block = p.n;
  p.own = own_product(p);
  if (p.turned || p.own->by_lines()) return nullptr;
  auto reader = std::make_shared<PanelReader>();
  reader->before = std::move(before);
  reader->scratch_bytes = scratch.size();
  if (matrix::chunk_of(p.k, p.kind.terms) < p.k)
    reader->task_bytes = static_cast<std::size_t>(p.m * p.n * p.sum_size());
  reader->run = [p, left, lines](const RoutineArgs& args, const Panel& panel, const void* operand,
                                 void* memory) {
    const std::int64_t l_size = p.size_in(p.lhs), r_size = p.size_in(p.rhs);
    const char *l = operand_bytes(args, p.lhs, 0), *r = operand_bytes(args, p.rhs, 1);
    for (std::int64_t row = panel.row; row < panel.row + panel.m;) {
      const std::int64_t b = row / p.k, step = row % p.k,
                         count = std::min(panel.row + panel.m - row, p.k - step);
      const char* rows = static_cast<const char*>(operand) + row * lines * (left ? l_size : r_size);
      const char* a =
          left ? rows : l + (lhs_offset(p, b, 0) + step * p.lhs_distances().step) * l_size;
      const char* other =
          left ? r + (rhs_offset(p, b, 0) + step * p.rhs_distances().step) * r_size : rows;
      char* out = static_cast<char*>(args.outputs[0]) + b * p.m * p.n * p.sum_size();
      p.own->run_stretch({a, other, out, p.n, p.m, p.n, count}, step, memory);
      row += count;
    }
  };
  return reader;
}

}  // namespace

std::shared_ptr<const PanelReader> reader_of(DotSchedule p, bool left, const PanelMaker& maker,
                                             std::vector<Stage> before, ScratchPlan scratch) {
  const std::int64_t lines = left ? p.m : p.n;
  // The other operand, or the sums, are read again for each panel, which is worth it while that
  // takes less time than to store the rows and to read them again.
  constexpr std::int64_t kMostOfOther = 4;
  if ((left ? p.n : p.m) > kMostOfOther * maker.panel_rows) return nullptr;
  if (auto sums = summing_reader_of(p, left, maker, before, scratch)) return sums;
  if (maker.columns != p.k || maker.matrix_rows != lines || maker.rows != p.batch * lines ||
      maker.column_block < maker.columns ||
      !lines_are_rows(left ? p.lhs : p.rhs, lines, p.k, !left))
    return nullptr;
  auto reader = std::make_shared<PanelReader>();
  reader->before = std::move(before);
  PanelProduct product{p, left, false, 0, lines};
  DotSchedule& q = product.p;
  const std::int64_t most = std::min(maker.panel_rows, maker.block_rows);
  q.column_block = q.n, q.row_block = q.m;
  if (left) {
    q.row_block = maker.block_rows;
    q.own = own_product(q, maker.panel_rows);
    if (q.turned) return nullptr;
    product.in_task = q.own->shares_b() && maker.block_rows >= lines;
    if (product.in_task) {
      product.shared_bytes = (q.own->shared_bytes() + 63) / 64 * 64;
    } else if (q.own->shares_b()) {
      q.shared = scratch.add(q.own->shared_bytes() * static_cast<std::size_t>(q.batch));
      reader->before.push_back(share_stage(q));
    }
  } else if (!q.turned) {
    // A block of the lines, and what remains of each kind of block.
    for (const std::int64_t block : {maker.block_rows, lines % maker.block_rows})
      for (const std::int64_t count : {std::min(block, maker.panel_rows), block % maker.panel_rows})
        if (count && !product.by_lines.contains(count)) {
          product.by_lines[count] = std::make_shared<const matrix::Product>(
              matrix::Problem{q.operand, q.kind, q.m, count, q.k, q.lhs_distances(),
                              q.rhs_distances(), q.m, count, 0, q.lhs.element, q.rhs.element,
                              q.in_order});
        }
  }
  reader->scratch_bytes = scratch.size();
  reader->task_bytes =
      product.shared_bytes +
      (q.narrow ? static_cast<std::size_t>(most * (left ? q.n : q.m) * q.sum_size()) : 0);
  const std::int64_t row_bytes = p.k * p.size_in(left ? p.lhs : p.rhs);
  reader->run = [product, row_bytes](const RoutineArgs& args, const Panel& panel,
                                     const void* operand, void* memory) {
    char* const packed = static_cast<char*>(memory);
    for (std::int64_t row = panel.row; row < panel.row + panel.m;) {
      const std::int64_t b = row / product.lines, line = row % product.lines,
                         count = std::min(panel.row + panel.m - row, product.lines - line);
      product.run(args, static_cast<const char*>(operand) + row * row_bytes, b, line, count, packed,
                  packed + product.shared_bytes);
      row += count;
    }
  };
  return reader;
}

}  // namespace tessera::inline v0::codegen
