// What is called of BLAS's third level beside products of arrays, and of the second for single columns: one
// name for the four dtypes. On the calling thread, while a OneThread lives.
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

/// b, n elements, becomes the solution of op(a) x = b, with the triangle `part` of a.
template <class T>
void trsv(CBLAS_ORDER order, CBLAS_UPLO part, CBLAS_TRANSPOSE op, CBLAS_DIAG diagonal, int n,
          const T* a, int lda, T* b) {
  if constexpr (std::is_same_v<T, float>)
    cblas_strsv(order, part, op, diagonal, n, a, lda, b, 1);
  else if constexpr (std::is_same_v<T, double>)
    cblas_dtrsv(order, part, op, diagonal, n, a, lda, b, 1);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    cblas_ctrsv(order, part, op, diagonal, n, a, lda, b, 1);
  else
    cblas_ztrsv(order, part, op, diagonal, n, a, lda, b, 1);
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

/// The lower triangle of c, n x n, less that of a a^H with k terms an element.
template <class T>
void subtract_square(CBLAS_ORDER order, int n, int k, const T* a, int lda, T* c, int ldc) {
  if constexpr (std::is_same_v<T, float>)
    cblas_ssyrk(order, CblasLower, CblasNoTrans, n, k, -1, a, lda, 1, c, ldc);
  else if constexpr (std::is_same_v<T, double>)
    cblas_dsyrk(order, CblasLower, CblasNoTrans, n, k, -1, a, lda, 1, c, ldc);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    cblas_cherk(order, CblasLower, CblasNoTrans, n, k, -1, a, lda, 1, c, ldc);
  else
    cblas_zherk(order, CblasLower, CblasNoTrans, n, k, -1, a, lda, 1, c, ldc);
}

}  // namespace tessera::inline v0::codegen
