#include "stablehlo/import/loop_rows.h"

#include "ops/build.h"

#include <algorithm>
#include <cstdlib>

namespace tessera::inline v0::stablehlo {

namespace {

Ints ints_of(const Shape& shape) { return Ints(shape.begin(), shape.end()); }
Shape shape_of(const Ints& dims) { return Shape(dims.begin(), dims.end()); }

// Moves dimension `from` to position `to`.
Value moved(Value x, int from, int to) {
  if (from == to) return x;
  Ints order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + to, from);
  return ops::transpose(x, order);
}

Value turned(Value x, bool by) { return by ? ops::reverse(x, {0}) : x; }

std::int64_t least(const Rows& r, std::int64_t turns) {
  return std::min(r.first, r.first + (turns - 1) * r.step);
}

}  // namespace

std::optional<Rows> rows_of(const Shape& shape, const Ints& sizes, std::span<const Var> starts,
                            const Progressions& known, std::int64_t turns) {
  Rows rows;
  rows.sizes = sizes;
  rows.start.assign(sizes.size(), 0);
  bool found = false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::int64_t room = shape[d] - sizes[d];
    if (room == 0) continue;  // every start is clamped to 0
    const std::optional<Progression>& at = known[starts[d]];
    if (!at) return std::nullopt;
    const std::optional<std::int64_t> end = at->at(turns - 1);
    if (!end || std::min(at->start, *end) < 0 || std::max(at->start, *end) > room)
      return std::nullopt;
    if (at->is_constant()) {
      rows.start[d] = at->start;
      continue;
    }
    if (found) return std::nullopt;  // the start moves along two dimensions
    found = true;
    rows.dimension = static_cast<int>(d);
    rows.size = sizes[d];
    rows.first = at->start;
    rows.step = at->step;
  }
  // Rows of several positions must be contiguous: without a gap and without overlap.
  const bool apart = rows.size == 1 || std::abs(rows.step) == rows.size;
  if (!found || !apart || rows.size == 0) return std::nullopt;
  return rows;
}

namespace {

// The dimension along which a scatter replaces one row, at the position given by its only index.
std::optional<std::size_t> row_of_index(const Program& p, const Equation& e) {
  if (e.op->stablehlo != "scatter" || e.op->combiner != Combiner::replace ||
      !e.attrs.has("scatter_dims_to_operand_dims") || p.type(e.inputs[1]).shape.count() != 1)
    return std::nullopt;
  const Ints &at = e.attrs.ints("scatter_dims_to_operand_dims"),
             &left_out = e.attrs.ints("inserted_window_dims");
  if (at.size() != 1 || left_out != at || !e.attrs.ints("operand_batching_dims").empty())
    return std::nullopt;
  const Shape& part = p.type(e.inputs[2]).shape;
  Shape row = p.type(e.inputs[0]).shape;
  row.erase(row.begin() + static_cast<std::ptrdiff_t>(at[0]));
  if (e.attrs.ints("update_window_dims").size() != part.size() || part != row) return std::nullopt;
  return static_cast<std::size_t>(at[0]);
}

}  // namespace

std::optional<RowUpdate> row_update(const Program& p, const Equation& e, const Progressions& known,
                                    std::int64_t turns) {
  const bool by_slice = e.op->stablehlo == "dynamic_update_slice";
  const std::optional<std::size_t> by_index = by_slice ? std::nullopt : row_of_index(p, e);
  if (!by_slice && !by_index) return std::nullopt;
  const Shape& whole = p.type(e.inputs[0]).shape;
  const Var part = e.inputs[by_slice ? 1 : 2];
  Ints sizes = ints_of(by_slice ? p.type(part).shape : whole);
  std::vector<Var> starts(whole.size(), e.inputs[1]);
  if (by_slice)
    starts.assign(e.inputs.begin() + 2, e.inputs.end());
  else
    sizes[*by_index] = 1;
  const std::optional<Rows> rows = rows_of(whole, sizes, starts, known, turns);
  if (!rows || std::abs(rows->step) != rows->size) return std::nullopt;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (static_cast<int>(d) != rows->dimension && sizes[d] != whole[d]) return std::nullopt;
  return RowUpdate{*rows, part};
}

Shape row_shape(const Rows& rows) {
  Ints dims = rows.sizes;
  if (rows.size == 1) dims.erase(dims.begin() + rows.dimension);
  return shape_of(dims);
}

Value stacked_rows(Value x, const Rows& rows, std::int64_t turns, bool reverse) {
  const auto d = static_cast<std::size_t>(rows.dimension);
  const std::int64_t begin = least(rows, turns);
  Ints start = rows.start, limit = start, strides(start.size(), 1);
  for (std::size_t i = 0; i < limit.size(); ++i) limit[i] += rows.sizes[i];
  start[d] = begin;
  limit[d] = begin + (turns - 1) * std::abs(rows.step) + rows.size;
  if (rows.size == 1) strides[d] = std::abs(rows.step);
  Value part = ops::slice(x, start, limit, strides);
  if (rows.size > 1) {
    Ints dims = rows.sizes;
    dims.insert(dims.begin() + rows.dimension, turns);
    part = ops::reshape(part, shape_of(dims));
  }
  return turned(moved(part, rows.dimension, 0), rows.descends() != reverse);
}

Value with_rows(Value x, Value stacked, const Rows& rows, std::int64_t turns, bool reverse) {
  const auto d = static_cast<std::size_t>(rows.dimension);
  Value part = moved(turned(stacked, rows.descends() != reverse), 0, rows.dimension);
  if (rows.size > 1) {
    Ints dims = rows.sizes;
    dims[d] *= turns;
    part = ops::reshape(part, shape_of(dims));
  }
  if (part.shape() == x.shape()) return part;
  // The elements before and after the rows are kept.
  const Ints whole = ints_of(x.shape());
  const std::int64_t begin = least(rows, turns), end = begin + part.shape()[d];
  Ints none(whole.size(), 0), ones(whole.size(), 1), before = whole, behind = none;
  before[d] = begin;
  behind[d] = end;
  Values parts;
  if (begin > 0) parts.push_back(ops::slice(x, none, before, ones));
  parts.push_back(part);
  if (end < whole[d]) parts.push_back(ops::slice(x, behind, whole, ones));
  return ops::concatenate(parts, rows.dimension);
}

}  // namespace tessera::inline v0::stablehlo
