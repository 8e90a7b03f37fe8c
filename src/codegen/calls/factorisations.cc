// Factorisations and triangular solves by LAPACK, one matrix at a time on the calling thread. The
// matrices of a batch are tasks; a few large matrices are divided into blocks
// (factorisations_in_blocks.cc). Some LAPACK routines do not return for non-finite input, so such a
// matrix is not passed to them and gives NaN. So does a matrix for which a routine reports failure
// (`info` above 0).
#include "codegen/calls/blas.h"
#include "codegen/calls/lapack.h"
#include "codegen/calls/level3.h"
#include "codegen/calls/matrices.h"
#include "codegen/calls/matrix_copy.h"
#include "ops/linalg/calls.h"
#include "ops/linalg/schur.h"

#include <numeric>

namespace tessera::inline v0::codegen {
namespace {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// A routine that calls run(T{}, args, i) for each matrix, where T is the element type.
template <class F>
std::shared_ptr<const Routine> routine(const CallArgs& a, const Matrices& x, double cost, F run) {
  constexpr double kFlops = 4e9;
  const auto tasks = [run, dtype = x.dtype](const RoutineArgs& args, std::int64_t first,
                                            std::int64_t last) {
    const OneThread guard;
    with_element(dtype, [&](auto tag) {
      for (std::int64_t i = first; i < last; ++i) run(tag, args, i);
    });
  };
  return ops::for_matrices(a, x.count, 5e-7 + cost * x.flops() / kFlops, tasks);
}

// The lower triangle by rows is the upper triangle by columns of the conjugate matrix, whose factor
// U = L^T is L by rows.
std::shared_ptr<const Routine> cholesky(const CallArgs& a) {
  const Matrices x(a.inputs[0]);
  if (factored_in_blocks(x))
    return is_complex(x.dtype) ? cholesky_in_blocks(a, x) : cholesky_in_panels(a, x);
  return routine(a, x, 0.4, [x]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    const std::int64_t n = x.n;
    const T* from = operand<T>(args, 0, i, n * n);
    T* to = result<T>(args, 0, i, n * n);
    bool finite = true;
    for (std::int64_t r = 0; r < n; ++r) {
      std::copy(from + r * n, from + r * n + r, to + r * n);
      to[r * n + r] = std::real(from[r * n + r]);
      std::fill(to + r * n + r + 1, to + (r + 1) * n, T(0));
      finite = finite && all_finite(to + r * n, r + 1);
    }
    if (finite && done("potrf", lapack::potrf('U', in32(n), to, in32(n)))) return;
    for (std::int64_t r = 0; r < n; ++r) fill_nan(to + r * n, r + 1);
  });
}

std::shared_ptr<const Routine> triangular_solve(const CallArgs& a) {
  const Matrices x(a.inputs[0]), b(a.inputs[1]);
  const auto side = a.attrs.flag("left_side") ? CblasLeft : CblasRight;
  const auto part = a.attrs.flag("lower") ? CblasLower : CblasUpper;
  const auto diagonal = a.attrs.flag("unit_diagonal") ? CblasUnit : CblasNonUnit;
  const std::string& name = a.attrs.str("transpose_a");
  const auto op = name == "NO_TRANSPOSE" ? CblasNoTrans
                  : name == "TRANSPOSE"  ? CblasTrans
                                         : CblasConjTrans;
  const double cost =
      static_cast<double>(b.m * b.n) / static_cast<double>(std::max<std::int64_t>(1, x.n * x.n));
  return routine(a, x, cost, [=]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    const T* from = operand<T>(args, 1, i, b.m * b.n);
    T* to = result<T>(args, 0, i, b.m * b.n);
    std::copy(from, from + b.m * b.n, to);
    // For a single column, trsm would copy the triangle only to use it once.
    if (side == CblasLeft && b.n == 1)
      return trsv(CblasRowMajor, part, op, diagonal, in32(x.n), operand<T>(args, 0, i, x.n * x.n),
                  in32(x.n), to);
    trsm(CblasRowMajor, side, part, op, diagonal, in32(b.m), in32(b.n),
         operand<T>(args, 0, i, x.n * x.n), in32(x.n), to, in32(b.n));
  });
}

std::shared_ptr<const Routine> lu(const CallArgs& a) {
  const Matrices x(a.inputs[0]);
  if (factored_in_blocks(x)) return lu_in_blocks(a, x);
  return routine(a, x, 1, [x]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    const T* from = operand<T>(args, 0, i, x.m * x.n);
    T* to = result<T>(args, 0, i, x.m * x.n);
    int* pivots = result<int>(args, 1, i, x.few());
    int* order = result<int>(args, 2, i, x.m);
    std::iota(order, order + x.m, 0);
    std::iota(pivots, pivots + x.few(), 0);
    if (!all_finite(from, x.m * x.n)) return fill_nan(to, x.m * x.n);
    if (x.few() == 0) return;
    std::vector<T> work = by_columns(from, x.m, x.n);
    const int info = lapack::getrf(in32(x.m), in32(x.n), work.data(), in32(x.m), pivots);
    done("getrf", info);  // above 0: a zero pivot, which stays in the result
    for (std::int64_t k = 0; k < x.few(); ++k) std::swap(order[k], order[--pivots[k]]);
    copy_transposed(work.data(), x.n, x.m, x.m, to, x.n);
  });
}

std::shared_ptr<const Routine> qr(const CallArgs& a) {
  const Matrices x(a.inputs[0]);
  const std::int64_t columns = a.attrs.flag("full") ? x.m : x.few();  // of q
  return routine(a, x, 3, [x, columns]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    const T* from = operand<T>(args, 0, i, x.m * x.n);
    T *q = result<T>(args, 0, i, x.m * columns), *r = result<T>(args, 1, i, columns * x.n);
    if (!all_finite(from, x.m * x.n)) {
      fill_nan(q, x.m * columns);
      for (std::int64_t row = 0; row < columns; ++row)
        for (std::int64_t c = 0; c < x.n; ++c)
          r[row * x.n + c] = c < row ? T(0) : not_a_number<T>();
      return;
    }
    std::vector<T> work = by_columns(from, x.m, x.n);
    std::vector<T> tau(static_cast<std::size_t>(std::max<std::int64_t>(1, x.few())));
    if (x.few() > 0) done("geqrf", lapack::geqrf(in32(x.m), in32(x.n), work.data(), tau.data()));
    for (std::int64_t row = 0; row < columns; ++row)
      for (std::int64_t c = 0; c < x.n; ++c)
        r[row * x.n + c] = c < row ? T(0) : work[static_cast<std::size_t>(c * x.m + row)];
    if (columns == 0) return;
    work.resize(static_cast<std::size_t>(std::max(x.n, columns) * x.m));
    done("orgqr", lapack::orgqr(in32(x.m), in32(columns), in32(x.few()), work.data(), tau.data()));
    copy_transposed(work.data(), columns, x.m, x.m, q, columns);
  });
}

std::shared_ptr<const Routine> svd(const CallArgs& a) {
  const Matrices x(a.inputs[0]);
  const bool vectors = a.attrs.flag("vectors"), full = a.attrs.flag("full");
  const std::int64_t u_columns = full ? x.m : x.few(), vh_rows = full ? x.n : x.few();
  return routine(a, x, vectors ? 20 : 6, [=]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    const T* from = operand<T>(args, 0, i, x.m * x.n);
    auto* s = result<Real<T>>(args, 0, i, x.few());
    T *u = vectors ? result<T>(args, 1, i, x.m * u_columns) : nullptr,
      *vh = vectors ? result<T>(args, 2, i, vh_rows * x.n) : nullptr;
    if (x.few() == 0) {  // the vectors are those of a full basis only
      for (std::int64_t k = 0; vectors && k < x.m * u_columns; ++k) u[k] = k % (x.m + 1) == 0;
      for (std::int64_t k = 0; vectors && k < vh_rows * x.n; ++k) vh[k] = k % (x.n + 1) == 0;
      return;
    }
    bool good = all_finite(from, x.m * x.n);
    std::vector<T> work = by_columns(from, x.m, x.n),
                   left(static_cast<std::size_t>(vectors ? x.m * u_columns : 1)),
                   right(static_cast<std::size_t>(vectors ? vh_rows * x.n : 1));
    good = good && done("gesdd", lapack::gesdd(!vectors ? 'N'
                                               : full   ? 'A'
                                                        : 'S',
                                               in32(x.m), in32(x.n), work.data(), s, left.data(),
                                               right.data(), in32(vh_rows)));
    if (!good) {
      fill_nan(s, x.few());
      if (vectors) fill_nan(u, x.m * u_columns), fill_nan(vh, vh_rows * x.n);
    } else if (vectors) {
      copy_transposed(left.data(), u_columns, x.m, x.m, u, u_columns);
      copy_transposed(right.data(), x.n, vh_rows, vh_rows, vh, x.n);
    }
  });
}

std::shared_ptr<const Routine> eigh(const CallArgs& a) {
  const Matrices x(a.inputs[0]);
  const bool vectors = a.attrs.flag("vectors");
  return routine(a, x, vectors ? 9 : 3, [=]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    const T* from = operand<T>(args, 0, i, x.n * x.n);
    auto* w = result<Real<T>>(args, 0, i, x.n);
    bool good = true;
    for (std::int64_t r = 0; r < x.n; ++r) good = good && all_finite(from + r * x.n, r + 1);
    std::vector<T> work = by_columns(from, x.n, x.n);
    good = good && (x.n == 0 ||
                    done("heevd", lapack::heevd(vectors ? 'V' : 'N', in32(x.n), work.data(), w)));
    if (!good) fill_nan(w, x.n), fill_nan(work.data(), x.n * x.n);
    if (vectors) copy_transposed(work.data(), x.n, x.n, x.n, result<T>(args, 1, i, x.n * x.n), x.n);
  });
}

std::shared_ptr<const Routine> eig(const CallArgs& a) {
  const Matrices x(a.inputs[0]);
  const bool vectors = a.attrs.flag("vectors");
  return routine(a, x, vectors ? 25 : 10, [=]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    using C = std::complex<Real<T>>;
    const T* from = operand<T>(args, 0, i, x.n * x.n);
    C* w = result<C>(args, 0, i, x.n);
    std::vector<T> work = by_columns(from, x.n, x.n);
    std::vector<C> v(static_cast<std::size_t>(std::max<std::int64_t>(1, x.n * x.n)));
    const bool good = all_finite(from, x.n * x.n) &&
                      (x.n == 0 || done("geev", lapack::geev(vectors ? 'V' : 'N', in32(x.n),
                                                             work.data(), w, v.data())));
    if (!good) fill_nan(w, x.n), fill_nan(v.data(), x.n * x.n);
    if (vectors) copy_transposed(v.data(), x.n, x.n, x.n, result<C>(args, 1, i, x.n * x.n), x.n);
  });
}

std::shared_ptr<const Routine> schur(const CallArgs& a) {
  const Matrices x(a.inputs[0]);
  return routine(a, x, 25, [x]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    const std::int64_t size = x.n * x.n;
    const T* from = operand<T>(args, 0, i, size);
    std::vector<T> t = by_columns(from, x.n, x.n), z(t.size());
    const bool good = all_finite(from, size) &&
                      (x.n == 0 || done("gees", lapack::gees(in32(x.n), t.data(), z.data())));
    if (!good) fill_nan(t.data(), size), fill_nan(z.data(), size);
    copy_transposed(t.data(), x.n, x.n, x.n, result<T>(args, 0, i, size), x.n);
    copy_transposed(z.data(), x.n, x.n, x.n, result<T>(args, 1, i, size), x.n);
  });
}

}  // namespace
}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> cholesky_call(const CallArgs& a) { return codegen::cholesky(a); }
std::shared_ptr<const Routine> triangular_solve_call(const CallArgs& a) {
  return codegen::triangular_solve(a);
}
std::shared_ptr<const Routine> lu_call(const CallArgs& a) { return codegen::lu(a); }
std::shared_ptr<const Routine> qr_call(const CallArgs& a) { return codegen::qr(a); }
std::shared_ptr<const Routine> svd_call(const CallArgs& a) { return codegen::svd(a); }
std::shared_ptr<const Routine> eigh_call(const CallArgs& a) { return codegen::eigh(a); }
std::shared_ptr<const Routine> eig_call(const CallArgs& a) { return codegen::eig(a); }
std::shared_ptr<const Routine> schur_call(const CallArgs& a) { return codegen::schur(a); }

}  // namespace tessera::inline v0::ops
