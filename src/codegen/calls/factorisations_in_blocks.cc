// Cholesky and LU of few large matrices, right-looking: a block of columns is factored by LAPACK, what
// lies behind it is solved and updated by BLAS, block by block, each a task. The task that updates the
// next block to be factored comes first and factors it, while the others update the rest: only the first
// block is waited for. The blocks follow from the shape alone, so the bits do not depend on how many
// threads there are. (Golub and Van Loan, Matrix Computations, 4th edition, 3.2.11, 3.4.7 and 4.2.9.)
#include "codegen/calls/factorisation_stages.h"
#include "codegen/calls/lapack.h"
#include "codegen/calls/level3.h"
#include "codegen/calls/matrix_copy.h"

#include <numeric>

namespace tessera::inline v0::codegen {
namespace {

constexpr std::int64_t kCholeskyBlock = 128, kLuBlock = 64, kLuColumns = 128;

// Rows from `first` to `last` of a column change places with their pivots'.
template <class T>
void swap_rows(T* column, const int* pivots, std::int64_t first, std::int64_t last) {
  for (std::int64_t k = first; k < last; ++k) std::swap(column[k], column[pivots[k]]);
}

}  // namespace

bool factored_in_blocks(const Matrices& x) {
  constexpr std::int64_t kLarge = 384, kFew = 8;  // more matrices are tasks enough
  return x.few() >= kLarge && x.count < kFew;
}

std::shared_ptr<const Routine> cholesky_in_blocks(const CallArgs& a, const Matrices& x) {
  const std::int64_t n = x.n, parts = parts_of(n, kCholeskyBlock);
  ScratchPlan scratch;
  const Failures failed(scratch, x.count);
  auto routine = begun(a, x, 0.4);
  routine->stages.push_back(stage_of(
      x, 1,
      [=](auto, const RoutineArgs& args, std::int64_t i, std::int64_t) { failed(args, i) = 0; }));
  routine->stages.push_back(stage_of(
      x, parts, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
        const T* from = operand<T>(args, 0, i, n * n);
        T* to = result<T>(args, 0, i, n * n);
        bool finite = true;
        for (std::int64_t r = part * kCholeskyBlock; r < std::min(n, (part + 1) * kCholeskyBlock);
             ++r) {
          std::copy(from + r * n, from + r * n + r, to + r * n);
          to[r * n + r] = std::real(from[r * n + r]);
          std::fill(to + r * n + r + 1, to + (r + 1) * n, T(0));
          finite = finite && all_finite(to + r * n, r + 1);
        }
        if (!finite) failed(args, i) = 1;
      }));
  // By rows, the lower triangle is the upper one by columns, of the conjugate matrix.
  const auto factor = [=]<class T>(T* to, std::int64_t first, auto failure) {
    const std::int64_t width = std::min(kCholeskyBlock, n - first);
    T* corner = to + first * n + first;
    if (!done("potrf", lapack::potrf('U', in32(width), corner, in32(n)))) failure = 1;
  };
  routine->stages.push_back(
      stage_of(x, 1, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t) {
        if (!failed(args, i)) factor(result<T>(args, 0, i, n * n), 0, failed(args, i));
      }));
  for (std::int64_t k = 0; k + 1 < parts; ++k) {
    const std::int64_t first = k * kCholeskyBlock, behind = first + kCholeskyBlock,
                       rest = parts - k - 1;
    auto rows_of = [=](std::int64_t part) {
      return std::min(kCholeskyBlock, n - behind - part * kCholeskyBlock);
    };
    routine->stages.push_back(stage_of(
        x, rest, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
          if (failed(args, i)) return;
          T* to = result<T>(args, 0, i, n * n);
          const T* corner = to + first * n + first;
          trsm(CblasRowMajor, CblasRight, CblasLower, CblasConjTrans, CblasNonUnit,
               in32(rows_of(part)), in32(kCholeskyBlock), corner, in32(n),
               to + (behind + part * kCholeskyBlock) * n + first, in32(n));
        }));
    routine->stages.push_back(stage_of(
        x, rest, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t task) {
          if (failed(args, i)) return;
          const std::int64_t part =
              task == 0 ? 0 : rest - task;  // behind the next, the longest first
          T* to = result<T>(args, 0, i, n * n);
          const std::int64_t row = behind + part * kCholeskyBlock, rows = rows_of(part);
          const T *solved = to + row * n + first, *above = to + behind * n + first;
          T* update = to + row * n + behind;
          if (row > behind)
            subtract_product(CblasRowMajor, CblasConjTrans, in32(rows), in32(row - behind),
                             in32(kCholeskyBlock), solved, in32(n), above, in32(n), update,
                             in32(n));
          subtract_square(CblasRowMajor, in32(rows), in32(kCholeskyBlock), solved, in32(n),
                          to + row * n + row, in32(n));
          if (part == 0) factor(to, behind, failed(args, i));
        }));
  }
  routine->stages.push_back(
      stage_of(x, 1, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t) {
        if (!failed(args, i)) return;
        T* to = result<T>(args, 0, i, n * n);
        for (std::int64_t r = 0; r < n; ++r) {
          fill_nan(to + r * n, r + 1);
          std::fill(to + r * n + r + 1, to + (r + 1) * n, T(0));
        }
      }));
  routine->scratch_bytes = scratch.size();
  return routine;
}

std::shared_ptr<const Routine> lu_in_blocks(const CallArgs& a, const Matrices& x) {
  const std::int64_t m = x.m, n = x.n, few = x.few(), parts = parts_of(n, kLuColumns);
  ScratchPlan scratch;
  const Failures failed(scratch, x.count);
  // By columns, where a pivot's column is one piece of memory.
  const std::size_t matrix_bytes = static_cast<std::size_t>(m * n) * size_of(x.dtype);
  const std::size_t work = scratch.add(matrix_bytes * static_cast<std::size_t>(x.count));
  auto columns_at = [=]<class T>(T, const RoutineArgs& args, std::int64_t i) {
    return reinterpret_cast<T*>(static_cast<char*>(args.scratch) + work) + i * m * n;
  };
  auto width_of = [=](std::int64_t part) { return std::min(kLuColumns, n - part * kLuColumns); };

  auto routine = begun(a, x, 1);
  routine->stages.push_back(
      stage_of(x, 1, [=](auto, const RoutineArgs& args, std::int64_t i, std::int64_t) {
        failed(args, i) = 0;
        int* pivots = result<int>(args, 1, i, few);
        std::iota(pivots, pivots + few, 0);
      }));
  routine->stages.push_back(stage_of(
      x, parts, [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
        const T* from = operand<T>(args, 0, i, m * n) + part * kLuColumns;
        T* to = columns_at(tag, args, i) + part * kLuColumns * m;
        copy_transposed(from, m, width_of(part), n, to, m);
        if (!all_finite(to, width_of(part) * m)) failed(args, i) = 1;
      }));
  auto factor = [=]<class T>(T* matrix, std::int64_t first, int* pivots) {
    const std::int64_t width = std::min(kLuBlock, few - first);
    // Above 0: a pivot of zero, which is where it stands.
    done("getrf", lapack::getrf(in32(m - first), in32(width), matrix + first * m + first, in32(m),
                                pivots + first));
    for (std::int64_t k = first; k < first + width; ++k) pivots[k] += in32(first) - 1;
  };
  routine->stages.push_back(
      stage_of(x, 1, [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t) {
        if (!failed(args, i)) factor(columns_at(tag, args, i), 0, result<int>(args, 1, i, few));
      }));
  for (std::int64_t first = 0; first < few; first += kLuBlock) {
    const std::int64_t width = std::min(kLuBlock, few - first), behind = first + width,
                       ahead = std::min(few, behind + kLuBlock);  // behind the next block
    // On the right rows change places, and columns are solved and updated.
    routine->stages.push_back(
        stage_of(x, 1 + parts - std::min(parts, ahead / kLuColumns),
                 [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t task) {
                   if (failed(args, i)) return;
                   int* pivots = result<int>(args, 1, i, few);
                   T* matrix = columns_at(tag, args, i);
                   auto update = [&](std::int64_t right, std::int64_t end) {
                     if (right >= end) return;
                     for (std::int64_t c = right; c < end; ++c)
                       swap_rows(matrix + c * m, pivots, first, behind);
                     const T* panel = matrix + first * m + first;
                     T* of_rows = matrix + right * m + first;
                     trsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit,
                          in32(width), in32(end - right), panel, in32(m), of_rows, in32(m));
                     if (behind < m)
                       subtract_product(CblasColMajor, CblasNoTrans, in32(m - behind),
                                        in32(end - right), in32(width), panel + width, in32(m),
                                        of_rows, in32(m), of_rows + width, in32(m));
                   };
                   if (task > 0) {
                     const std::int64_t part = parts - task, begin = part * kLuColumns;
                     return update(std::max(begin, ahead), begin + width_of(part));
                   }
                   update(behind, ahead);
                   if (behind < ahead) factor(matrix, behind, pivots);
                 }));
  }
  routine->stages.push_back(stage_of(
      x, parts, [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
        T* to = result<T>(args, 0, i, m * n) + part * kLuColumns;
        if (failed(args, i)) {
          for (std::int64_t r = 0; r < m; ++r) fill_nan(to + r * n, width_of(part));
        } else {
          // What is left of a block changes places with its rows here, each column once.
          T* columns = columns_at(tag, args, i);
          const std::int64_t begin = part * kLuColumns, end = begin + width_of(part);
          for (std::int64_t c = begin; c < std::min(few, end); ++c)
            swap_rows(columns + c * m, result<int>(args, 1, i, few),
                      std::min(few, (c / kLuBlock + 1) * kLuBlock), few);
          copy_transposed(columns + begin * m, width_of(part), m, m, to, n);
        }
        if (part > 0) return;
        const int* pivots = result<int>(args, 1, i, few);
        int* order = result<int>(args, 2, i, m);
        std::iota(order, order + m, 0);
        for (std::int64_t k = 0; k < few; ++k) std::swap(order[k], order[pivots[k]]);
      }));
  routine->scratch_bytes = scratch.size();
  return routine;
}

}  // namespace tessera::inline v0::codegen
