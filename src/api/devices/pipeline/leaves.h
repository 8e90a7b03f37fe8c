// Lists of arrays: the non-empty leaves of a tree.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <vector>

namespace tessera::inline v0::detail {

using Leaves = std::vector<Array>;

/// The leaves that have derivatives; and `all` with those leaves replaced by `floats`.
Leaves floats_of(const Leaves& all);
Leaves with_floats(Leaves all, const Leaves& floats);

Leaves zeros_of(const Leaves& like);
Leaves sums_of(const Leaves& a, const Leaves& b);
Leaves quotients_of(const Leaves& a, double b);
/// a if the scalar condition holds, else b.
Leaves chosen(const Array& condition, const Leaves& a, const Leaves& b);

/// Row i of each leaf; and each leaf with row i replaced if the condition holds.
Leaves rows_at(const Leaves& stacked, const Array& i);
Leaves with_rows(const Leaves& stacked, const Array& i, const Array& condition, const Leaves& rows);
/// n rows of zeros for each leaf.
Leaves stacks_of(const Leaves& row, std::int64_t n);

/// Reshapes rows (m n, ...) to microbatches (m, n, ...), and back.
Leaves in_microbatches(const Leaves& rows, std::int64_t microbatches);
Leaves in_rows(const Leaves& microbatches);

}  // namespace tessera::inline v0::detail
