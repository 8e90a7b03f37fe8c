// Rows of arrays that a counted loop reads or writes at its counter, one per iteration.
#pragma once

#include "ir/op.h"
#include "stablehlo/import/progressions.h"

#include <compare>
#include <optional>
#include <span>

namespace tessera::inline v0::stablehlo {

/// The elements of an array that a loop accesses in iteration t: along one dimension, `size`
/// positions starting at first + t * step, and a fixed range of every other dimension. All of them
/// are in bounds.
struct Rows {
  int dimension = 0;
  std::int64_t size = 1, first = 0, step = 1;
  Ints start, sizes;  // the range of each dimension; `start` is 0 along `dimension`

  bool descends() const { return step < 0; }
  auto operator<=>(const Rows&) const = default;
};

/// The rows that a slice of `sizes` at `starts`, clamped into `shape`, accesses in `turns`
/// iterations. Returns nothing if the start is not an arithmetic progression, is clamped in some
/// iteration, or is always the same.
std::optional<Rows> rows_of(const Shape& shape, const Ints& sizes, std::span<const Var> starts,
                            const Progressions& known, std::int64_t turns);

/// An equation that replaces whole rows of its first operand by the variable `part`. The rows are
/// contiguous.
struct RowUpdate {
  Rows rows;
  Var part = 0;
};
/// Recognises an update by a slice or by a single index; returns nothing for other equations.
std::optional<RowUpdate> row_update(const Program& p, const Equation& e, const Progressions& known,
                                    std::int64_t turns);

/// The shape of a row inside the scan's body, which lacks the dimension if it has one position.
Shape row_shape(const Rows& rows);

/// The rows of x, stacked in the order of the iterations, or in the opposite order if `reverse`.
Value stacked_rows(Value x, const Rows& rows, std::int64_t turns, bool reverse);
/// x with the stacked rows written into it. The rows cover every other dimension completely.
Value with_rows(Value x, Value stacked, const Rows& rows, std::int64_t turns, bool reverse);

}  // namespace tessera::inline v0::stablehlo
