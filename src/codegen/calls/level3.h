// What is called of BLAS's third level beside products of arrays: one name for the four dtypes. On the
// calling thread, while a OneThread lives.
#pragma once

#include <cblas.h>

#include <complex>
#include <type_traits>

namespace tessera::inline v0::codegen {

/// b, m x n, becomes the solution of op(a) x = b, or of x op(a) = b, with the triangle `part` of a.
template <class T>
void trsm(CBLAS_ORDER order, CBLAS_SIDE side, CBLAS_UPLO part, CBLAS_TRANSPOSE op,
          CBLAS_DIAG diagonal, int m, int n, const T* a, int lda, T* b, int ldb) {
  const T one = 1;
  if constexpr (std::is_same_v<T, float>)
    cblas_strsm(order, side, part, op, diagonal, m, n, one, a, lda, b, ldb);
  else if constexpr (std::is_same_v<T, double>)
    cblas_dtrsm(order, side, part, op, diagonal, m, n, one, a, lda, b, ldb);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    cblas_ctrsm(order, side, part, op, diagonal, m, n, &one, a, lda, b, ldb);
  else
    cblas_ztrsm(order, side, part, op, diagonal, m, n, &one, a, lda, b, ldb);
}

/// c, m x n, less a op(b) with k terms an element.
template <class T>
void subtract_product(CBLAS_ORDER order, CBLAS_TRANSPOSE op, int m, int n, int k, const T* a,
                      int lda, const T* b, int ldb, T* c, int ldc) {
  const T minus = -1, one = 1;
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemm(order, CblasNoTrans, op, m, n, k, minus, a, lda, b, ldb, one, c, ldc);
  else if constexpr (std::is_same_v<T, double>)
    cblas_dgemm(order, CblasNoTrans, op, m, n, k, minus, a, lda, b, ldb, one, c, ldc);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    cblas_cgemm(order, CblasNoTrans, op, m, n, k, &minus, a, lda, b, ldb, &one, c, ldc);
  else
    cblas_zgemm(order, CblasNoTrans, op, m, n, k, &minus, a, lda, b, ldb, &one, c, ldc);
}

}  // namespace tessera::inline v0::codegen
