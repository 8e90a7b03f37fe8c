// Lists of arrays: the leaves of a tree that are not empty.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <vector>

namespace tessera::inline v0::detail {

using Leaves = std::vector<Array>;

/// Those that have derivatives; and `all` with these in their places.
Leaves floats_of(const Leaves& all);
Leaves with_floats(Leaves all, const Leaves& floats);

Leaves zeros_of(const Leaves& like);
Leaves sums_of(const Leaves& a, const Leaves& b);
Leaves quotients_of(const Leaves& a, double b);
/// a where the scalar condition holds, else b.
Leaves chosen(const Array& condition, const Leaves& a, const Leaves& b);

/// Row i of each; and each with another row i where the condition holds.
Leaves rows_at(const Leaves& stacked, const Array& i);
Leaves with_rows(const Leaves& stacked, const Array& i, const Array& condition, const Leaves& rows);
/// n rows of zeros.
Leaves stacks_of(const Leaves& row, std::int64_t n);

/// Rows (m n, ...) as microbatches (m, n, ...), and back.
Leaves in_microbatches(const Leaves& rows, std::int64_t microbatches);
Leaves in_rows(const Leaves& microbatches);

}  // namespace tessera::inline v0::detail
