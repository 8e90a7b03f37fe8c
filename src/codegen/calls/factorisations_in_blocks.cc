// LU factorisation of a few large matrices, and Cholesky factorisation of complex ones, right-
// looking. LAPACK factors a block of columns; then the remaining blocks are solved and updated, one
// per task, by BLAS if they are complex and in panels otherwise. The task that updates the next
// block comes first and also factors it while the others update the rest, so only the first block
// delays everything. Blocks follow from the shape alone, so the bits do not depend on the number of
// threads. (Golub and Van Loan, Matrix Computations, 4th edition, 3.2.11, 3.4.7 and 4.2.9.)
#include "codegen/calls/factorisation_stages.h"
#include "codegen/calls/lapack.h"
#include "codegen/calls/level3.h"
#include "codegen/calls/matrix_copy.h"
#include "codegen/calls/panels.h"

#include <cstring>
#include <numeric>

namespace tessera::inline v0::codegen {
namespace {

constexpr std::int64_t kCholeskyBlock = 128, kLuBlock = 64, kLuColumns = 128;

// Swaps rows [first, last) of some columns with their pivot rows.
template <class T>
void swap_rows(T* x, std::int64_t columns, std::int64_t leading, const int* pivots,
               std::int64_t first, std::int64_t last) {
  T kept[kLuColumns];
  const std::size_t bytes = static_cast<std::size_t>(columns) * sizeof(T);
  for (std::int64_t k = first; k < last; ++k) {
    if (pivots[k] == k) continue;
    T *row = x + k * leading, *other = x + pivots[k] * leading;
    std::memcpy(kept, row, bytes);
    std::memcpy(row, other, bytes);
    std::memcpy(other, kept, bytes);
  }
}

// A factored block of columns, stored twice: by rows in its matrix and, for float and double, by
// columns as LAPACK left it.
template <class T>
struct Factored {
  const T *in_matrix, *by_columns;
  std::int64_t rows, columns;
};

// Workspace of a task that updates float or double columns.
template <class T>
struct Workspace {
  T triangle[Panels<T>::kElements], solved[Panels<T>::kElements];
};

// Updates `x`, some columns of the rows of `f`: the first rows are solved to rows of U, and the
// product of L with them is subtracted from the others.
template <class T>
void update_columns(const Factored<T>& f, std::int64_t leading, std::int64_t columns, T* x,
                    Workspace<T>& work) {
  using P = Panels<T>;
  static_assert(kLuBlock <= P::kBlock && kLuColumns <= P::kBlock);
  T ones[P::kBlock];
  std::fill(ones, ones + P::kBlock, T(1));
  // In row-major order, a row of the matrix is a column of its panels.
  for (std::int64_t r = 0; r < f.columns; r += P::kRows)
    P::pack_columns(f.by_columns + r, f.rows, std::min(P::kRows, f.columns - r), f.columns,
                    work.triangle + r / P::kRows * P::kPanel);
  for (std::int64_t c = 0; c < columns; c += P::kRows) {
    T* solved = work.solved + c / P::kRows * P::kPanel;
    const std::int64_t width = std::min(P::kRows, columns - c);
    P::pack_columns(x + c, leading, width, f.columns, solved);
    P::solve(work.triangle, ones, f.columns, solved);
    P::unpack_columns(solved, width, f.columns, x + c, leading);
  }
  alignas(64) T lower[P::kPanel], edge[P::kRows * P::kRows];
  for (std::int64_t r = f.columns; r < f.rows; r += P::kRows) {
    const std::int64_t height = std::min(P::kRows, f.rows - r);
    P::pack_columns(f.by_columns + r, f.rows, height, f.columns, lower);
    for (std::int64_t c = 0; c < columns; c += P::kRows) {
      const std::int64_t width = std::min(P::kRows, columns - c);
      const T* solved = work.solved + c / P::kRows * P::kPanel;
      T* to = x + r * leading + c;
      if (width == P::kRows && height % 8 == 0) {
        P::subtract_product(solved, lower, f.columns, height, to, leading);
        continue;
      }
      P::pack_columns(to, leading, width, height, edge);
      P::subtract_product(solved, lower, f.columns, height, edge);
      P::unpack_columns(edge, width, height, to, leading);
    }
  }
}
template <class T>
void update_columns(const Factored<std::complex<T>>& f, std::int64_t leading, std::int64_t columns,
                    std::complex<T>* x, Workspace<std::complex<T>>&) {
  trsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, in32(f.columns),
       in32(columns), f.in_matrix, in32(leading), x, in32(leading));
  if (f.columns < f.rows)
    subtract_product(CblasRowMajor, CblasNoTrans, in32(f.rows - f.columns), in32(columns),
                     in32(f.columns), f.in_matrix + f.columns * leading, in32(leading), x,
                     in32(leading), x + f.columns * leading, in32(leading));
}

}  // namespace

bool factored_in_blocks(const Matrices& x) {
  constexpr std::int64_t kLarge = 384, kFew = 8;  // with more matrices there are enough tasks
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
  // The lower triangle by rows is the upper triangle by columns of the conjugate matrix.
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
              task == 0 ? 0 : rest - task;  // after the next block, the longest blocks first
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
        if (failed(args, i)) fill_no_factor(result<T>(args, 0, i, n * n), n);
      }));
  routine->scratch_bytes = scratch.size();
  return routine;
}

// The matrix is stored by rows, so that swapping rows copies contiguous pieces. A block of columns
// is transposed for LAPACK.
std::shared_ptr<const Routine> lu_in_blocks(const CallArgs& a, const Matrices& x) {
  const std::int64_t m = x.m, n = x.n, few = x.few(), parts = parts_of(n, kLuColumns);
  ScratchPlan scratch;
  const Failures failed(scratch, x.count);
  const auto elements = [&](std::int64_t count) {
    return scratch.add(static_cast<std::size_t>(count) * size_of(x.dtype));
  };
  // One block is in use while the next is being factored.
  const std::size_t blocks = elements(x.count * 2 * m * kLuBlock),
                    workspaces = elements(is_complex(x.dtype) ? 0
                                                              : x.count * (1 + parts) * 2 *
                                                                    Panels<float>::kElements);
  auto block_at = [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t first) {
    return reinterpret_cast<T*>(static_cast<char*>(args.scratch) + blocks) +
           (i * 2 + first / kLuBlock % 2) * m * kLuBlock;
  };
  auto workspace_at = [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t task) {
    return reinterpret_cast<Workspace<T>*>(static_cast<char*>(args.scratch) + workspaces) +
           i * (1 + parts) + task;
  };
  auto width_of = [=](std::int64_t part) { return std::min(kLuColumns, n - part * kLuColumns); };

  auto routine = begun(a, x, 1);
  routine->stages.push_back(
      stage_of(x, 1, [=](auto, const RoutineArgs& args, std::int64_t i, std::int64_t) {
        failed(args, i) = 0;
        int* pivots = result<int>(args, 1, i, few);
        std::iota(pivots, pivots + few, 0);
      }));
  routine->stages.push_back(
      stage_of(x, parts_of(m, kLuColumns),
               [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
                 const std::int64_t begin = part * kLuColumns * n,
                                    end = std::min(m * n, begin + kLuColumns * n);
                 const T* from = operand<T>(args, 0, i, m * n);
                 std::copy(from + begin, from + end, result<T>(args, 0, i, m * n) + begin);
                 if (!all_finite(from + begin, end - begin)) failed(args, i) = 1;
               }));
  auto factor = [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t first) {
    const std::int64_t width = std::min(kLuBlock, few - first), rows = m - first;
    T *corner = result<T>(args, 0, i, m * n) + first * n + first,
      *block = block_at(tag, args, i, first);
    int* pivots = result<int>(args, 1, i, few) + first;
    copy_transposed(corner, rows, width, n, block, rows);
    // Above 0: a zero pivot, which stays in the result.
    done("getrf", lapack::getrf(in32(rows), in32(width), block, in32(rows), pivots));
    copy_transposed(block, width, rows, rows, corner, n);
    for (std::int64_t k = 0; k < width; ++k) pivots[k] += in32(first) - 1;
  };
  routine->stages.push_back(
      stage_of(x, 1, [=](auto tag, const RoutineArgs& args, std::int64_t i, std::int64_t) {
        if (!failed(args, i)) factor(tag, args, i, 0);
      }));
  for (std::int64_t first = 0; first < few; first += kLuBlock) {
    const std::int64_t width = std::min(kLuBlock, few - first), behind = first + width,
                       ahead = std::min(few, behind + kLuBlock);  // end of the next block
    // To the right of the block, swap rows, then solve and update the columns.
    routine->stages.push_back(stage_of(
        x, 1 + parts - std::min(parts, ahead / kLuColumns),
        [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t task) {
          if (failed(args, i)) return;
          T* matrix = result<T>(args, 0, i, m * n);
          const Factored<T> block = {matrix + first * n + first, block_at(tag, args, i, first),
                                     m - first, width};
          auto update = [&](std::int64_t right, std::int64_t end) {
            if (right >= end) return;
            swap_rows(matrix + right, end - right, n, result<int>(args, 1, i, few), first, behind);
            update_columns(block, n, end - right, matrix + first * n + right,
                           *workspace_at(tag, args, i, task));
          };
          if (task > 0) {
            const std::int64_t part = parts - task, begin = part * kLuColumns;
            return update(std::max(begin, ahead), begin + width_of(part));
          }
          update(behind, ahead);
          if (behind < ahead) factor(tag, args, i, behind);
        }));
  }
  routine->stages.push_back(stage_of(
      x, parts, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
        T* matrix = result<T>(args, 0, i, m * n);
        const std::int64_t begin = part * kLuColumns, end = begin + width_of(part);
        const int* pivots = result<int>(args, 1, i, few);
        if (failed(args, i)) {
          for (std::int64_t r = 0; r < m; ++r) fill_nan(matrix + r * n + begin, end - begin);
        } else {
          // The columns left of later blocks have their rows swapped here, once.
          for (std::int64_t c = begin; c < std::min(few, end); c += kLuBlock)
            swap_rows(matrix + c, std::min(kLuBlock, std::min(few, end) - c), n, pivots,
                      std::min(few, c + kLuBlock), few);
        }
        if (part > 0) return;
        int* order = result<int>(args, 2, i, m);
        std::iota(order, order + m, 0);
        for (std::int64_t k = 0; k < few; ++k) std::swap(order[k], order[pivots[k]]);
      }));
  routine->scratch_bytes = scratch.size();
  return routine;
}

}  // namespace tessera::inline v0::codegen
