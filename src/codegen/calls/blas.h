// Matrix products of doubles on the calling thread.
#pragma once

#include <cstdint>

namespace tessera::inline v0::codegen {

/// c = a * b, row-major: c is m x n with leading dimension ldc; a is m x k, or k x m when
/// `transpose_a`, and so on. Runs on the calling thread alone; concurrent calls are safe.
void dgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
           const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c,
           std::int64_t ldc);

}  // namespace tessera::inline v0::codegen
