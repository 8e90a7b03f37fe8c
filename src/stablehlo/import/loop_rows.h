// Rows of arrays that a counted loop reads or writes at its counter, one in each turn.
#pragma once

#include "ir/op.h"
#include "stablehlo/import/progressions.h"

#include <compare>
#include <optional>
#include <span>

namespace tessera::inline v0::stablehlo {

/// In turn t a loop reads or writes, along one dimension of an array, the `size` places from
/// first + t * step on, and a fixed part of every other dimension. All places are inside the
/// array.
struct Rows {
  int dimension = 0;
  std::int64_t size = 1, first = 0, step = 1;
  Ints start, sizes;  // the part, by dimension; `start` is 0 along `dimension`

  bool descends() const { return step < 0; }
  auto operator<=>(const Rows&) const = default;
};

/// The rows that a slice of `sizes` at `starts`, clamped into `shape`, touches in `turns` turns.
/// None where the place is no progression, is clamped in some turn, or is the same in all turns.
std::optional<Rows> rows_of(const Shape& shape, const Ints& sizes, std::span<const Var> starts,
                            const Progressions& known, std::int64_t turns);

/// An equation that replaces whole rows of its first operand by `part`, a variable. The rows follow
/// each other without a gap.
struct RowUpdate {
  Rows rows;
  Var part = 0;
};
/// None for other equations. It is one by a slice, or one by a single index.
std::optional<RowUpdate> row_update(const Program& p, const Equation& e, const Progressions& known,
                                    std::int64_t turns);

/// A row as the body of the scan sees it: without the dimension, where it is one place.
Shape row_shape(const Rows& rows);

/// The rows of x stacked: in the order of the turns, or the other way round where `reverse`.
Value stacked_rows(Value x, const Rows& rows, std::int64_t turns, bool reverse);
/// x with the stacked rows written into it. The rows are whole: they cover every other dimension.
Value with_rows(Value x, Value stacked, const Rows& rows, std::int64_t turns, bool reverse);

}  // namespace tessera::inline v0::stablehlo
