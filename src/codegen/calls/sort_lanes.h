// Sorts several short rows at once, one in each vector lane, by a network of comparisons. It
// depends on the number of elements alone, so no branch depends on the data, and no operation mixes
// lanes.
#pragma once

#include <cstdint>

namespace tessera::inline v0::codegen {

/// How many rows of E, std::uint32_t or std::uint64_t, are sorted at once: as many as a register
/// holds. 0 if this processor lacks the instructions.
template <class E>
std::int64_t lanes_to_sort();

/// Sorts lanes_to_sort<E>() columns of n elements each, in place. Columns are side by side: element
/// i of column c is x[i * lanes + c]. `x` is 64-byte aligned. Elements are unsigned with the
/// highest bit inverted.
template <class E>
void sort_lanes(E* x, std::int64_t n);

/// to(j, i) = x(i, j) with the highest bit inverted, for i < `rows` and j < `columns`. Rows are
/// `from` elements apart in x and `apart` in the result.
template <class E>
void turn_lanes(const E* x, std::int64_t rows, std::int64_t columns, std::int64_t from, E* to,
                std::int64_t apart);

}  // namespace tessera::inline v0::codegen
