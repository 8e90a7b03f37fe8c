#include "codegen/calls/dot_schedule.h"

#include "base/machine.h"
#include "codegen/kernel/reduce_shape.h"
#include "ops/contraction/dot_dims.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>

namespace tessera::inline v0::codegen {

Block block_of(const DotSchedule& p, std::int64_t task) {
  const std::int64_t columns = p.column_parts(), parts = p.row_parts() * columns;
  Block b;
  b.row = task % parts / columns * p.row_block;
  b.column = task % columns * p.column_block;
  b.m = std::min(p.row_block, p.m - b.row);
  b.n = std::min(p.column_block, p.n - b.column);
  b.first = task / parts * p.batch_block;
  b.last = std::min(p.batch, b.first + p.batch_block);
  b.last_row = b.row + b.m == p.m;
  b.last_column = b.column + b.n == p.n;
  return b;
}

// Chooses the order of the contracted dimensions for which the fewest elements must be packed.
DotSchedule arrange(const CallArgs& a) {
  ops::DotDims d = ops::dot_dims(a.attrs);
  const Shape &l = a.inputs[0].shape, &r = a.inputs[1].shape;
  Ints lhs_free = ops::free_dims(l.rank(), d.lhs_contracting, d.lhs_batch),
       rhs_free = ops::free_dims(r.rank(), d.rhs_contracting, d.rhs_batch);
  auto with_order = [&](const Ints& keys) {
    Ints order(d.lhs_contracting.size()), lc, rc;
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::int64_t x, std::int64_t y) { return keys[x] < keys[y]; });
    for (std::int64_t i : order)
      lc.push_back(d.lhs_contracting[i]), rc.push_back(d.rhs_contracting[i]);
    DotSchedule p;
    p.lhs_contracting = lc;
    p.rhs_contracting = rc;
    p.lhs.batch = group(l, d.lhs_batch);
    p.lhs.outer = group(l, lhs_free);
    p.lhs.inner = group(l, lc);
    p.rhs.batch = group(r, d.rhs_batch);
    p.rhs.outer = group(r, rc);
    p.rhs.inner = group(r, rhs_free);
    p.lhs.settle();
    p.rhs.settle();
    return p;
  };
  auto cost = [](const DotSchedule& p) {
    return (p.lhs.packed ? p.lhs.elements() : 0) + (p.rhs.packed ? p.rhs.elements() : 0);
  };
  DotSchedule by_lhs = with_order(d.lhs_contracting), by_rhs = with_order(d.rhs_contracting);
  DotSchedule p = cost(by_rhs) < cost(by_lhs) ? by_rhs : by_lhs;
  p.operand = p.lhs.element = p.rhs.element = a.inputs[0].dtype;
  p.result = a.outputs[0].dtype;
  p.m = p.lhs.rows();
  p.n = p.rhs.columns();
  p.k = p.lhs.columns();
  p.batch = p.lhs.batch.count();
  auto leading = [](const Ints& dims) {
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (!std::count(dims.begin(), dims.end(), static_cast<std::int64_t>(i))) return false;
    return true;
  };
  p.over_rows = d.lhs_batch.empty() && leading(d.lhs_contracting) && leading(d.rhs_contracting);
  return p;
}

double DotSchedule::seconds_of_one(double rate) const {
  const auto rows = static_cast<double>(m), columns = static_cast<double>(n),
             steps = static_cast<double>(k);
  return std::max(2 * rows * columns * steps / rate,
                  steps * (rows * size_of(lhs.element) + columns * size_of(rhs.element)) /
                      machine::kMemoryBandwidth);
}

bool read_views(DotSchedule& p, const CallArgs& a, OperandViews views) {
  const ops::DotDims d = ops::dot_dims(a.attrs);
  const bool by_lines = matrix::adds_by_lines(problem_of(p));
  for (bool left : {true, false}) {
    const OperandView& view = views[left ? 0 : 1];
    const Shape& shape = a.inputs[left ? 0 : 1].shape;
    Matrix& x = left ? p.lhs : p.rhs;
    const bool packed = x.packed;
    const Ints &batch = left ? d.lhs_batch : d.rhs_batch,
               &contracting = left ? p.lhs_contracting : p.rhs_contracting,
               free = ops::free_dims(shape.rank(), contracting, batch);
    x.batch = group(shape, batch, &view);
    x.outer = group(shape, left ? free : contracting, &view);
    x.inner = group(shape, left ? contracting : free, &view);
    x.element = view.dtype;
    x.first = view.first;
    x.settle();
    if (x.packed && !packed) return false;
  }
  // The order of the sums is that of stored operands. If the lines in memory are not as adjacent as
  // those of the stored operand, the terms can only be added in order.
  const bool now = matrix::adds_by_lines(problem_of(p));
  p.in_order = now && !by_lines;
  return now || !by_lines;
}

// Cuts the result into blocks by shape alone: several whole matrices if they are small, else parts
// of one.
void cut(DotSchedule& p) {
  // A product of few rows takes the time in which its operands are read.
  const double flops = machine::kProductFlops * p.seconds_of_one(machine::kProductFlops);
  p.row_block = p.m;
  p.column_block = p.n;
  p.batch_block = 1;
  if (flops < machine::kLeastOwnProductToDivide) {
    p.batch_block =
        std::max<std::int64_t>(1, p.batch / tasks_for(flops * static_cast<double>(p.batch)));
    return;
  }
  auto tasks = static_cast<std::int64_t>(std::clamp(flops / machine::kProductBlock, 8.0, 32.0));
  std::int64_t parts =
      std::min(tasks, static_cast<std::int64_t>(flops / machine::kLeastOwnProductBlock) + 1);
  parts = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, parts / p.batch))));
  // Blocks of rows share a right operand that is packed once, so rows are cut as long as a block
  // has enough of them to be worth reading that operand. Then columns are cut, for which each block
  // packs its rows again.
  constexpr std::int64_t kRowsOfBlock = 128, kColumnsOfBlock = 64;
  std::int64_t row_parts = 1;
  while (row_parts < parts &&
         (p.m / row_parts >= 2 * kRowsOfBlock || p.n * row_parts < kColumnsOfBlock * parts))
    row_parts *= 2;
  auto block = [](std::int64_t extent, std::int64_t count) {
    constexpr std::int64_t kRound = 32;
    std::int64_t each = (extent + count - 1) / count;
    return std::min(extent, (each + kRound - 1) / kRound * kRound);
  };
  p.row_block = block(p.m, row_parts);
  std::int64_t column_parts = parts / row_parts;
  if (p.m < kLeafRows && !p.rhs.transposed) {
    // Lines are divided into pieces that are not too short, but always into at least two.
    constexpr std::int64_t kLeastPiece = 4096;
    const auto pieces = static_cast<std::uint64_t>(
        std::max<std::int64_t>(2, p.n * size_of(p.rhs.element) / kLeastPiece));
    column_parts = std::min(column_parts, static_cast<std::int64_t>(std::bit_floor(pieces)));
  }
  p.column_block = block(p.n, column_parts);
}

// Handles products with a narrow side, such as a classifier's last layer. Their rows may be a batch
// that is divided over devices, and the bits should not depend on the division. In a forward
// product all rows are treated alike. A product that contracts the leading dimensions of both
// operands, such as a weight gradient, is a sum over rows and uses the tree of
// codegen/kernel/reduce_shape.h; a leaf costs a call and a pass over the results. Both are cheap
// for a narrow product, which waits for memory anyway. They are too expensive for a wide one, and
// for a sum whose partial results for each halving would need too much memory: those are added in
// the order of the rows.
void cut_narrow(DotSchedule& p) {
  constexpr std::int64_t kNarrow = 16, kMostOfBlock = 32768, kMostResults = 1 << 18, kVector = 256;
  auto rows_worth_a_call = [](std::int64_t of_weights, double flops) {
    std::int64_t rows = kLeafRows;
    while (2.0 * static_cast<double>(of_weights * rows) < flops) rows *= 2;
    return rows;
  };
  if (p.batch > 1) return;
  p.narrow_side = std::min(p.n, p.over_rows ? p.m : p.k) <= kNarrow &&
                  (!p.over_rows || p.m * p.n <= kMostResults);
  if (!p.narrow_side || !p.over_rows) return;
  p.row_block = p.m;
  p.column_block = p.n;
  auto& cut = p.m < p.n ? p.column_block : p.row_block;  // the long side
  // A product with a vector is bound by reading its matrix, so smaller parts are worthwhile.
  const std::int64_t narrow = std::min(p.m, p.n),
                     most = narrow == 1 ? kVector : kMostOfBlock / narrow;
  cut = std::min(cut, most);
  p.halvings =
      halvings(p.k, rows_worth_a_call(narrow == 1 ? cut : p.m * p.n, machine::kNarrowLeaf));
}

// For many tiny matrices, and for inner products, a call costs more than the op's own loops. For
// integers these give the same bits, so they are also used for tiny products, which then need no
// micro-kernels to be compiled.
bool better_as_loops(const DotSchedule& p) {
  constexpr std::int64_t kTiny = 4096;
  if (is_integer(p.operand) && p.batch * p.m * p.n * p.k <= kTiny) return true;
  // The loops round each product of parts, so small complex products have the digits that a reader
  // expects where parts cancel. The rows may be divided over devices and do not count.
  constexpr std::int64_t kSmallComplex = 64;
  if (is_complex(p.operand) && p.n * p.k <= kSmallComplex) return true;
  // The product of a single row is such a loop, too, so a small matrix that transforms points gives
  // a point the same bits alone and among others.
  constexpr std::int64_t kSmallMatrix = 16;
  if (is_floating(p.operand) &&
      (p.n * p.k <= kSmallMatrix || (p.m < kLeafRows && p.m * p.k <= kSmallMatrix)))
    return true;
  if (p.m == 1 && p.n == 1) return p.batch >= 8 || p.k >= 4096;
  return p.batch >= 8 && p.m * p.n * p.k <= kTiny;
}

matrix::Problem problem_of(const DotSchedule& p, std::int64_t part_rows) {
  const matrix::Distances l = p.lhs_distances(), r = p.rhs_distances();
  const DType operand = p.widened ? p.kind.sum : p.operand;
  const auto element = [&](const Matrix& x) { return p.widened ? operand : x.element; };
  if (p.turns())
    return {operand,        p.kind,         1,         p.m, p.k, r, l, 1, p.row_block, 0,
            element(p.rhs), element(p.lhs), p.in_order};
  return {operand,
          p.kind,
          p.m,
          p.n,
          p.k,
          l,
          r,
          p.row_block,
          p.column_block,
          part_rows,
          element(p.lhs),
          element(p.rhs),
          p.in_order,
          p.panels_given};
}

std::shared_ptr<const matrix::Product> own_product(DotSchedule& p, std::int64_t part_rows) {
  p.turned = p.turns();
  return std::make_shared<const matrix::Product>(problem_of(p, part_rows));
}

}  // namespace tessera::inline v0::codegen
