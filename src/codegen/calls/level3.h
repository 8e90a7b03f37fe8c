// BLAS level 3 routines other than array products, and level 2 for single columns: one overloaded
// name for the four dtypes. They run on the calling thread while a OneThread lives.
#pragma once

#include <cblas.h>

#include <complex>
#include <type_traits>

namespace tessera::inline v0::codegen {

/// Replaces b (m x n) by the solution of op(a) x = b, or x op(a) = b, where a is its triangle
/// `part`.
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

/// Replaces b (n elements) by the solution of op(a) x = b, where a is its triangle `part`.
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

/// c -= a op(b), where c is m x n and each element sums k terms.
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

/// c -= a a^H in the lower triangle of c (n x n), where each element sums k terms.
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
