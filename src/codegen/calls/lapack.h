// The LAPACK routines of OpenBLAS: declarations, and one overloaded name for the four dtypes.
// Matrices are column-major; their leading dimension is their number of rows, or `lda` where it is
// an argument. Workspace is queried and freed inside. Each function returns LAPACK's `info`.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <vector>

// The length of a character argument is passed after all other arguments.
#define TESSERA_LAPACK_(x, T, R)                                              \
  void x##potrf_(const char*, const int*, T*, const int*, int*, std::size_t); \
  void x##getrf_(const int*, const int*, T*, const int*, int*, int*);         \
  void x##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);
#define TESSERA_LAPACK_REAL_(x, T)                                                                 \
  TESSERA_LAPACK_(x, T, T)                                                                         \
  void x##orgqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*,     \
                 int*);                                                                            \
  void x##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*,      \
                 const int*, T*, const int*, int*, int*, std::size_t);                             \
  void x##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*,   \
                 const int*, int*, std::size_t, std::size_t);                                      \
  void x##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*,  \
                const int*, T*, const int*, int*, std::size_t, std::size_t);                       \
  void x##gees_(const char*, const char*, int (*)(const T*, const T*), const int*, T*, const int*, \
                int*, T*, T*, T*, const int*, T*, const int*, int*, int*, std::size_t,             \
                std::size_t);
#define TESSERA_LAPACK_COMPLEX_(x, T, R)                                                           \
  TESSERA_LAPACK_(x, T, R)                                                                         \
  void x##ungqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*,     \
                 int*);                                                                            \
  void x##gesdd_(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*,      \
                 const int*, T*, const int*, R*, int*, int*, std::size_t);                         \
  void x##heevd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, R*,     \
                 const int*, int*, const int*, int*, std::size_t, std::size_t);                    \
  void x##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*,      \
                const int*, T*, const int*, R*, int*, std::size_t, std::size_t);                   \
  void x##gees_(const char*, const char*, int (*)(const T*), const int*, T*, const int*, int*, T*, \
                T*, const int*, T*, const int*, R*, int*, int*, std::size_t, std::size_t);
extern "C" {
TESSERA_LAPACK_REAL_(s, float)
TESSERA_LAPACK_REAL_(d, double)
TESSERA_LAPACK_COMPLEX_(c, std::complex<float>, float)
TESSERA_LAPACK_COMPLEX_(z, std::complex<double>, double)
}
#undef TESSERA_LAPACK_
#undef TESSERA_LAPACK_REAL_
#undef TESSERA_LAPACK_COMPLEX_

namespace tessera::inline v0::codegen::lapack {

inline int leading(int rows) { return std::max(1, rows); }

/// Calls f(work, size) twice: first to query the size, then with work of that size. A size in
/// float32 may have been rounded down.
template <class T, class F>
void with_work(F&& f) {
  T asked{};
  int size = -1;
  f(&asked, &size);
  size = 1 + static_cast<int>((1 + 1e-6) * static_cast<double>(std::real(asked)));
  std::vector<T> work(static_cast<std::size_t>(size));
  f(work.data(), &size);
}

#define TESSERA_LAPACK_(x, T, ORGQR)                                                         \
  inline int potrf(char uplo, int n, T* a, int lda) {                                        \
    int info = 0;                                                                            \
    lda = leading(lda);                                                                      \
    x##potrf_(&uplo, &n, a, &lda, &info, 1);                                                 \
    return info;                                                                             \
  }                                                                                          \
  inline int getrf(int m, int n, T* a, int lda, int* pivots) {                               \
    int info = 0;                                                                            \
    lda = leading(lda);                                                                      \
    x##getrf_(&m, &n, a, &lda, pivots, &info);                                               \
    return info;                                                                             \
  }                                                                                          \
  inline int geqrf(int m, int n, T* a, T* tau) {                                             \
    int info = 0, lda = leading(m);                                                          \
    with_work<T>([&](T* w, int* size) { x##geqrf_(&m, &n, a, &lda, tau, w, size, &info); }); \
    return info;                                                                             \
  }                                                                                          \
  inline int orgqr(int m, int n, int k, T* a, const T* tau) {                                \
    int info = 0, lda = leading(m);                                                          \
    with_work<T>([&](T* w, int* size) { ORGQR(&m, &n, &k, a, &lda, tau, w, size, &info); }); \
    return info;                                                                             \
  }
TESSERA_LAPACK_(s, float, sorgqr_)
TESSERA_LAPACK_(d, double, dorgqr_)
TESSERA_LAPACK_(c, std::complex<float>, cungqr_)
TESSERA_LAPACK_(z, std::complex<double>, zungqr_)
#undef TESSERA_LAPACK_

/// `job`: 'N' values only, 'S' as many vectors as values, 'A' all vectors.
#define TESSERA_LAPACK_(x, T, SYEVD)                                                              \
  inline int gesdd(char job, int m, int n, T* a, T* s, T* u, T* vt, int vt_rows) {                \
    int info = 0, lda = leading(m), ldvt = leading(vt_rows);                                      \
    std::vector<int> iwork(static_cast<std::size_t>(8 * std::max(1, std::min(m, n))));            \
    with_work<T>([&](T* w, int* size) {                                                           \
      x##gesdd_(&job, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, w, size, iwork.data(), &info, 1);   \
    });                                                                                           \
    return info;                                                                                  \
  }                                                                                               \
  inline int heevd(char job, int n, T* a, T* w) {                                                 \
    const char lower = 'L';                                                                       \
    int info = 0, lda = leading(n), isize = 3 + 5 * n;                                            \
    std::vector<int> iwork(static_cast<std::size_t>(isize));                                      \
    with_work<T>([&](T* work, int* size) {                                                        \
      SYEVD(&job, &lower, &n, a, &lda, w, work, size, iwork.data(), &isize, &info, 1, 1);         \
    });                                                                                           \
    return info;                                                                                  \
  }                                                                                               \
  inline int geev(char job, int n, T* a, std::complex<T>* w, std::complex<T>* vr) {               \
    const char none = 'N';                                                                        \
    int info = 0, lda = leading(n), one = 1;                                                      \
    const auto rows = static_cast<std::size_t>(n);                                                \
    std::vector<T> re(rows), im(rows), v(job == 'V' ? rows * rows : 1);                           \
    with_work<T>([&](T* work, int* size) {                                                        \
      x##geev_(&none, &job, &n, a, &lda, re.data(), im.data(), nullptr, &one, v.data(), &lda,     \
               work, size, &info, 1, 1);                                                          \
    });                                                                                           \
    for (std::size_t j = 0; j < rows; ++j) w[j] = {re[j], im[j]};                                 \
    if (job != 'V') return info;                                                                  \
    /* For a conjugate pair LAPACK returns the parts of the first eigenvector. */                 \
    for (std::size_t j = 0; j < rows; ++j) {                                                      \
      const bool pair = im[j] != 0 && j + 1 < rows;                                               \
      for (std::size_t i = 0; i < rows; ++i) {                                                    \
        const T x = v[j * rows + i], y = pair ? v[(j + 1) * rows + i] : T(0);                     \
        vr[j * rows + i] = {x, y};                                                                \
        if (pair) vr[(j + 1) * rows + i] = {x, -y};                                               \
      }                                                                                           \
      if (pair) ++j;                                                                              \
    }                                                                                             \
    return info;                                                                                  \
  }                                                                                               \
  inline int gees(int n, T* a, T* z) {                                                            \
    const char vectors = 'V', unsorted = 'N';                                                     \
    int info = 0, lda = leading(n), sorted = 0;                                                   \
    const auto rows = static_cast<std::size_t>(n);                                                \
    std::vector<T> re(rows), im(rows);                                                            \
    with_work<T>([&](T* work, int* size) {                                                        \
      x##gees_(&vectors, &unsorted, nullptr, &n, a, &lda, &sorted, re.data(), im.data(), z, &lda, \
               work, size, nullptr, &info, 1, 1);                                                 \
    });                                                                                           \
    return info;                                                                                  \
  }
TESSERA_LAPACK_(s, float, ssyevd_)
TESSERA_LAPACK_(d, double, dsyevd_)
#undef TESSERA_LAPACK_

#define TESSERA_LAPACK_(x, R)                                                                      \
  inline int gesdd(char job, int m, int n, std::complex<R>* a, R* s, std::complex<R>* u,           \
                   std::complex<R>* vt, int vt_rows) {                                             \
    int info = 0, lda = leading(m), ldvt = leading(vt_rows);                                       \
    const auto few = static_cast<std::size_t>(std::max(1, std::min(m, n))),                        \
               many = static_cast<std::size_t>(std::max(m, n));                                    \
    std::vector<int> iwork(8 * few);                                                               \
    std::vector<R> rwork(few* std::max(5 * few + 7, 2 * many + 2 * few + 1));                      \
    with_work<std::complex<R>>([&](std::complex<R>* w, int* size) {                                \
      x##gesdd_(&job, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, w, size, rwork.data(), iwork.data(), \
                &info, 1);                                                                         \
    });                                                                                            \
    return info;                                                                                   \
  }                                                                                                \
  inline int heevd(char job, int n, std::complex<R>* a, R* w) {                                    \
    const char lower = 'L';                                                                        \
    int info = 0, lda = leading(n), isize = 3 + 5 * n, rsize = 1 + 5 * n + 2 * n * n;              \
    std::vector<int> iwork(static_cast<std::size_t>(isize));                                       \
    std::vector<R> rwork(static_cast<std::size_t>(rsize));                                         \
    with_work<std::complex<R>>([&](std::complex<R>* work, int* size) {                             \
      x##heevd_(&job, &lower, &n, a, &lda, w, work, size, rwork.data(), &rsize, iwork.data(),      \
                &isize, &info, 1, 1);                                                              \
    });                                                                                            \
    return info;                                                                                   \
  }                                                                                                \
  inline int geev(char job, int n, std::complex<R>* a, std::complex<R>* w, std::complex<R>* vr) {  \
    const char none = 'N';                                                                         \
    int info = 0, lda = leading(n), one = 1;                                                       \
    std::vector<R> rwork(static_cast<std::size_t>(2 * std::max(1, n)));                            \
    with_work<std::complex<R>>([&](std::complex<R>* work, int* size) {                             \
      x##geev_(&none, &job, &n, a, &lda, w, nullptr, &one, vr, &lda, work, size, rwork.data(),     \
               &info, 1, 1);                                                                       \
    });                                                                                            \
    return info;                                                                                   \
  }                                                                                                \
  inline int gees(int n, std::complex<R>* a, std::complex<R>* z) {                                 \
    const char vectors = 'V', unsorted = 'N';                                                      \
    int info = 0, lda = leading(n), sorted = 0;                                                    \
    const auto rows = static_cast<std::size_t>(n);                                                 \
    std::vector<std::complex<R>> w(rows);                                                          \
    std::vector<R> rwork(rows);                                                                    \
    with_work<std::complex<R>>([&](std::complex<R>* work, int* size) {                             \
      x##gees_(&vectors, &unsorted, nullptr, &n, a, &lda, &sorted, w.data(), z, &lda, work, size,  \
               rwork.data(), nullptr, &info, 1, 1);                                                \
    });                                                                                            \
    return info;                                                                                   \
  }
TESSERA_LAPACK_(c, float)
TESSERA_LAPACK_(z, double)
#undef TESSERA_LAPACK_

}  // namespace tessera::inline v0::codegen::lapack
