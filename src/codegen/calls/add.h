// Vectorised sums of partial results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::inline v0::codegen {

/// sum[i] += part[i] for i < n.
void add_to(float* sum, const float* part, std::size_t n);

/// sum[i][j] += part[i][j] for i < m and j < n. Rows of `sum` are `leading` elements apart, those
/// of `part` are adjacent.
void add_rows(float* sum, std::int64_t leading, const float* part, std::int64_t m, std::int64_t n);
void add_rows(double* sum, std::int64_t leading, const double* part, std::int64_t m,
              std::int64_t n);

}  // namespace tessera::inline v0::codegen
