// Products that read an operand in panels: panels of its free dimension, whose lines are rows or
// columns of the result, or of its contracting dimension, over which the product sums.
#include "codegen/calls/dot_schedule.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace tessera::inline v0::codegen {
namespace {

// Whether the rows of the operand are the lines of its matrices in order, with adjacent steps of k.
bool lines_are_rows(const Matrix& x, std::int64_t lines, std::int64_t k, bool transposed) {
  if (x.in_scratch || (lines > 1 && k > 1 && x.transposed != transposed)) return false;
  if (lines > 1 && (k > 1 ? x.leading != k : x.leading > 1)) return false;
  for (std::size_t b = 0; b < x.offsets.size(); ++b)
    if (x.offsets[b] != static_cast<std::int64_t>(b) * lines * k) return false;
  return true;
}

// Whether the rows of the operand are steps of k in order, with adjacent lines.
bool steps_are_rows(const Matrix& x, std::int64_t lines, std::int64_t k, bool transposed) {
  if (x.in_scratch || lines <= 1 || k <= 1 || x.transposed != transposed || x.leading != lines)
    return false;
  for (std::size_t b = 0; b < x.offsets.size(); ++b)
    if (x.offsets[b] != static_cast<std::int64_t>(b) * lines * k) return false;
  return true;
}

// The locations of the result's matrices, in elements.
struct Lie {
  Ints offsets;
  std::int64_t row = 0, column = 1;
};

std::optional<Lie> lie_of(const DotSchedule& p, std::span<const std::int64_t> strides) {
  const Ints &batch = p.lhs.batch.extents, &rows = p.lhs.outer.extents,
             &columns = p.rhs.inner.extents;
  Lie lie;
  if (strides.empty()) {
    for (std::int64_t b = 0; b < p.batch; ++b) lie.offsets.push_back(b * p.m * p.n);
    lie.row = p.n;
    return lie;
  }
  if (strides.size() != batch.size() + rows.size() + columns.size()) return std::nullopt;
  const auto part = [&](std::size_t first, std::size_t count) {
    return Ints(strides.begin() + static_cast<std::ptrdiff_t>(first),
                strides.begin() + static_cast<std::ptrdiff_t>(first + count));
  };
  const Shape distances(part(0, batch.size()));
  for_each_index(Shape(batch),
                 [&](const Shape& i) { lie.offsets.push_back(flat_index(i, distances)); });
  lie.row = DimGroup{rows, part(batch.size(), rows.size())}.stride();
  lie.column = DimGroup{columns, part(batch.size() + rows.size(), columns.size())}.stride();
  if (lie.row < 0 || lie.column < 0) return std::nullopt;
  return lie;
}

// Replaces the product by the transposed one, with the transposed operands in the other order. It
// has the same bits.
void turn_over(DotSchedule& p, Lie& lie) {
  std::swap(p.lhs, p.rhs);
  for (Matrix* x : {&p.lhs, &p.rhs}) x->transposed = !x->transposed;
  std::swap(p.m, p.n);
  std::swap(lie.row, lie.column);
}

// A product of m rows and n columns, which one task computes.
matrix::Problem problem_of(const DotSchedule& p, std::int64_t m, std::int64_t n) {
  return {p.operand,         p.kind, m, n, p.k,           p.lhs_distances(),
          p.rhs_distances(), m,      n, 0, p.lhs.element, p.rhs.element,
          p.in_order};
}

// The product that reads an operand in panels of its lines: rows of the left or columns of the
// right operand, which are rows or columns of the result.
struct PanelProduct {
  DotSchedule p;
  Lie lie;
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
                       result_size = static_cast<std::int64_t>(size_of(p.result));
    char* const out =
        static_cast<char*>(args.outputs[0]) +
        (lie.offsets[static_cast<std::size_t>(b)] + line * (left ? lie.row : lie.column)) *
            result_size;
    char* const c = p.narrow ? sums : out;
    const std::int64_t c_row = p.narrow ? columns : lie.row;
    if (left) {
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
    const bool together = columns == lie.row;
    for (std::int64_t i = 0; i < (together ? 1 : rows); ++i)
      narrow_sums(p, c + i * columns * p.sum_size(), out + i * lie.row * result_size,
                  together ? rows * columns : columns);
  }
};

// Runs with the operands in the other order if the product was replaced by the transposed one.
PanelReader turned_back(PanelReader reader, bool turned) {
  if (!turned) return reader;
  reader.run = [run = std::move(reader.run)](const RoutineArgs& args, const Panel& panel,
                                             const void* operand, void* memory) {
    const void* const inputs[] = {args.inputs[1], args.inputs[0]};
    run({inputs, args.outputs, args.scratch}, panel, operand, memory);
  };
  return reader;
}

// The product that reads an operand in panels of its steps of k, over which it sums: each panel
// adds to the whole result of a matrix, in the order of the steps.
std::optional<PanelReader> summing_reader_of(DotSchedule p, const Lie& lie, bool left,
                                             const PanelMaker& maker) {
  const std::int64_t lines = left ? p.m : p.n;
  if (maker.columns != lines || maker.matrix_rows != p.k || maker.rows != p.batch * p.k ||
      maker.block_rows < p.k || p.narrow || matrix::adds_by_lines(problem_of(p, p.m, p.n)) ||
      matrix::steps_of(p.kind.terms) != 1 ||
      !steps_are_rows(left ? p.lhs : p.rhs, lines, p.k, left))
    return std::nullopt;
  p.own = std::make_shared<const matrix::Product>(problem_of(p, p.m, p.n));
  PanelReader reader;
  if (matrix::chunk_of(p.k, p.kind.terms) < p.k)
    reader.task_bytes = static_cast<std::size_t>(p.m * p.n * p.sum_size());
  reader.run = [p, lie, left, lines](const RoutineArgs& args, const Panel& panel,
                                     const void* operand, void* memory) {
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
      char* out = static_cast<char*>(args.outputs[0]) +
                  lie.offsets[static_cast<std::size_t>(b)] * p.sum_size();
      p.own->run_stretch({a, other, out, lie.row, p.m, p.n, count}, step, memory);
      row += count;
    }
  };
  return reader;
}

}  // namespace

std::shared_ptr<const PanelReader> reader_of(DotSchedule p, bool left, const PanelMaker& maker,
                                             std::span<const std::int64_t> strides,
                                             std::vector<Stage> before, ScratchPlan scratch) {
  std::optional<Lie> lie = lie_of(p, strides);
  if (!lie || p.halvings || (p.turned && left)) return nullptr;
  // The fused step has the maker's tasks. If these are few, some cores would idle while a task
  // computes the part of this product that would otherwise be divided further.
  constexpr std::int64_t kManyTasks = 8;
  const double flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) *
                       static_cast<double>(p.n) * static_cast<double>(p.k);
  if (2 * maker.tasks <= std::min(tasks_for(flops), kManyTasks)) return nullptr;
  // Columns of the result must be adjacent, or rows if the transposed product has the same bits. A
  // product that is already transposed has only one column.
  const bool turned = p.turned || lie->column != 1;
  if (turned) {
    const bool by_lines = !p.turned && matrix::adds_by_lines(problem_of(p, p.m, p.n));
    if (lie->row != 1 || by_lines) return nullptr;
    turn_over(p, *lie);
    left = !left;
    if (!p.turned && matrix::adds_by_lines(problem_of(p, p.m, p.n))) return nullptr;
  }
  // The other operand, or the sums, are read again for each panel, which pays if that takes less
  // time than storing the rows and reading them again.
  constexpr std::int64_t kMostOfOther = 4;
  if ((left ? p.n : p.m) > kMostOfOther * maker.panel_rows) return nullptr;
  const std::int64_t lines = left ? p.m : p.n;
  if (auto sums = summing_reader_of(p, *lie, left, maker)) {
    sums->before = std::move(before);
    sums->scratch_bytes = scratch.size();
    return std::make_shared<const PanelReader>(turned_back(*std::move(sums), turned));
  }
  if (maker.columns != p.k || maker.matrix_rows != lines || maker.rows != p.batch * lines ||
      maker.column_block < maker.columns ||
      !lines_are_rows(left ? p.lhs : p.rhs, lines, p.k, !left))
    return nullptr;
  PanelReader reader;
  reader.before = std::move(before);
  PanelProduct product{p, *lie, left, false, 0, lines};
  DotSchedule& q = product.p;
  if (left) {
    matrix::Problem whole = problem_of(q, q.m, q.n);
    whole.row_block = maker.block_rows;
    whole.part_rows = maker.panel_rows;
    q.own = std::make_shared<const matrix::Product>(whole);
    product.in_task = q.own->shares_b() && maker.block_rows >= lines;
    if (product.in_task) {
      product.shared_bytes = (q.own->shared_bytes() + 63) / 64 * 64;
    } else if (q.own->shares_b()) {
      q.shared = scratch.add(q.own->shared_bytes() * static_cast<std::size_t>(q.batch));
      Stage share = share_stage(q);
      if (turned)
        share.run = [run = std::move(share.run)](const RoutineArgs& args, std::int64_t begin,
                                                 std::int64_t end) {
          const void* const inputs[] = {args.inputs[1], args.inputs[0]};
          run({inputs, args.outputs, args.scratch}, begin, end);
        };
      reader.before.push_back(std::move(share));
    }
  } else {
    // A block of the lines, and what remains of each kind of block.
    for (const std::int64_t block : {maker.block_rows, lines % maker.block_rows})
      for (const std::int64_t count : {std::min(block, maker.panel_rows), block % maker.panel_rows})
        if (count && !product.by_lines.contains(count))
          product.by_lines[count] =
              std::make_shared<const matrix::Product>(problem_of(q, q.m, count));
  }
  const std::int64_t most = std::min(maker.panel_rows, maker.block_rows);
  reader.scratch_bytes = scratch.size();
  reader.task_bytes =
      product.shared_bytes +
      (q.narrow ? static_cast<std::size_t>(most * (left ? q.n : q.m) * q.sum_size()) : 0);
  const std::int64_t row_bytes = p.k * p.size_in(left ? p.lhs : p.rhs);
  reader.run = [product, row_bytes](const RoutineArgs& args, const Panel& panel,
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
  return std::make_shared<const PanelReader>(turned_back(std::move(reader), turned));
}

}  // namespace tessera::inline v0::codegen
