// Calls to OpenBLAS on the calling thread.
#pragma once

#include <cstdint>

namespace tessera::inline v0::codegen {

/// Sets OpenBLAS to one thread. The setting is global to the process, so it is 1 while any instance
/// lives and is restored when the last one is destroyed. Concurrent products of the user's code
/// also run on one thread then, which affects only their speed.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

/// c = a * b, row-major: c is m x n with leading dimension ldc; a is m x k, or k x m if
/// `transpose_a`; b likewise. Runs on the calling thread alone; concurrent calls are safe.
void dgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
           const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c,
           std::int64_t ldc);

}  // namespace tessera::inline v0::codegen
