// Calls of OpenBLAS on the calling thread.
#pragma once

#include <cstdint>

namespace tessera::inline v0::codegen {

/// OpenBLAS knows one number of threads for the whole process. It is 1 while any of these lives, and
/// what it was before once the last has gone; a product of the user's that runs meanwhile uses one
/// thread, which changes its speed only.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

/// c = a * b, row-major: c is m x n with leading dimension ldc; a is m x k, or k x m when
/// `transpose_a`, and so on. Runs on the calling thread alone; concurrent calls are safe.
void dgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
           const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c,
           std::int64_t ldc);

}  // namespace tessera::inline v0::codegen
