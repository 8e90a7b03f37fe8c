// Sorts several short rows at once, one in each vector lane, by a sorting network. The network
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

/// Copies `rows` adjacent rows of n elements to the first lanes, with the highest bit of each
/// element inverted; and n elements of the first lanes back to rows.
template <class E>
void rows_to_lanes(const E* x, std::int64_t rows, std::int64_t n, E* to);
template <class E>
void lanes_to_rows(const E* x, std::int64_t rows, std::int64_t n, E* to);

}  // namespace tessera::inline v0::codegen
