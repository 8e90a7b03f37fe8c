// Cholesky and LU of few large matrices, right-looking: a block of columns is factored by LAPACK, what
// lies behind it is solved and updated by BLAS, block by block, each a task. The blocks follow from the
// shape alone, so the bits do not depend on how many threads there are. (Golub and Van Loan, Matrix
// Computations, 4th edition, 3.2.11, 3.4.7 and 4.2.9.)
#include "codegen/calls/blas.h"
#include "codegen/calls/lapack.h"
#include "codegen/calls/level3.h"
#include "codegen/calls/matrices.h"
#include "codegen/calls/matrix_copy.h"

#include <atomic>
#include <numeric>

namespace tessera::inline v0::codegen {
namespace {

constexpr std::int64_t kCholeskyBlock = 128, kLuBlock = 64, kLuColumns = 128;

// What has gone wrong with a matrix: it has elements that are not finite, or has no factor.
class Flags {
 public:
  Flags(ScratchPlan& scratch, std::int64_t count)
      : at_(scratch.add(static_cast<std::size_t>(count) * sizeof(int))) {}
  std::atomic_ref<int> operator()(const RoutineArgs& args, std::int64_t matrix) const {
    return std::atomic_ref<int>(
        reinterpret_cast<int*>(static_cast<char*>(args.scratch) + at_)[matrix]);
  }

 private:
  std::size_t at_;
};

std::int64_t parts_of(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block;
}

// Calls run(T{}, args, matrix, part) for each part of each matrix, part after part.
template <class F>
Stage stage_of(const Matrices& x, std::int64_t parts, F run) {
  Stage stage;
  stage.tasks = x.count * parts;
  stage.run = [run, parts, dtype = x.dtype](const RoutineArgs& args, std::int64_t begin,
                                            std::int64_t end) {
    const OneThread guard;
    with_element(dtype, [&](auto tag) {
      for (std::int64_t task = begin; task < end; ++task)
        run(tag, args, task / parts, task % parts);
    });
  };
  return stage;
}

std::shared_ptr<Routine> begun(const CallArgs& a, const Matrices& x, double cost) {
  constexpr double kFlops = 4e10;
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 1e-5 + cost * x.flops() * static_cast<double>(x.count) / kFlops;
  return routine;
}

}  // namespace

bool factored_in_blocks(const Matrices& x) {
  constexpr std::int64_t kLarge = 384, kFew = 8;  // more matrices are tasks enough
  return x.few() >= kLarge && x.count < kFew;
}

std::shared_ptr<const Routine> cholesky_in_blocks(const CallArgs& a, const Matrices& x) {
  const std::int64_t n = x.n, parts = parts_of(n, kCholeskyBlock);
  ScratchPlan scratch;
  const Flags failed(scratch, x.count);
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
  for (std::int64_t k = 0; k < parts; ++k) {
    const std::int64_t first = k * kCholeskyBlock, behind = std::min(n, first + kCholeskyBlock),
                       width = behind - first, rest = parts - k - 1;
    // By rows, the lower triangle is the upper one by columns, of the conjugate matrix.
    routine->stages.push_back(
        stage_of(x, 1, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t) {
          T* corner = result<T>(args, 0, i, n * n) + first * n + first;
          if (failed(args, i)) return;
          if (!done("potrf", lapack::potrf('U', in32(width), corner, in32(n)))) failed(args, i) = 1;
          // The update of the block wrote above its diagonal.
          for (std::int64_t r = 0; r + 1 < width; ++r)
            std::fill(corner + r * n + r + 1, corner + r * n + width, T(0));
        }));
    if (rest == 0) break;
    auto rows_of = [=](std::int64_t part) {
      return std::min(kCholeskyBlock, n - behind - part * kCholeskyBlock);
    };
    routine->stages.push_back(stage_of(
        x, rest, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
          if (failed(args, i)) return;
          T* to = result<T>(args, 0, i, n * n);
          const T* corner = to + first * n + first;
          trsm(CblasRowMajor, CblasRight, CblasLower, CblasConjTrans, CblasNonUnit,
               in32(rows_of(part)), in32(width), corner, in32(n),
               to + (behind + part * kCholeskyBlock) * n + first, in32(n));
        }));
    routine->stages.push_back(stage_of(
        x, rest, [=]<class T>(T, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
          if (failed(args, i)) return;
          part = rest - 1 - part;  // the longest first
          T* to = result<T>(args, 0, i, n * n);
          const std::int64_t row = behind + part * kCholeskyBlock, rows = rows_of(part);
          subtract_product(CblasRowMajor, CblasConjTrans, in32(rows), in32(row + rows - behind),
                           in32(width), to + row * n + first, in32(n), to + behind * n + first,
                           in32(n), to + row * n + behind, in32(n));
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
  const Flags failed(scratch, x.count);
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
  for (std::int64_t first = 0; first < few; first += kLuBlock) {
    const std::int64_t width = std::min(kLuBlock, few - first), behind = first + width;
    routine->stages.push_back(
        stage_of(x, 1, [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t) {
          if (failed(args, i)) return;
          int* pivots = result<int>(args, 1, i, few) + first;
          // Above 0: a pivot of zero, which is where it stands.
          done("getrf",
               lapack::getrf(in32(m - first), in32(width),
                             columns_at(tag, args, i) + first * m + first, in32(m), pivots));
          for (std::int64_t k = 0; k < width; ++k) pivots[k] += in32(first) - 1;
        }));
    // The other columns: rows change places, and those on the right are solved and updated.
    routine->stages.push_back(stage_of(
        x, parts, [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
          if (failed(args, i)) return;
          const int* pivots = result<int>(args, 1, i, few);
          T* matrix = columns_at(tag, args, i);
          auto swap_rows = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t c = begin; c < end; ++c)
              for (std::int64_t k = first; k < behind; ++k)
                std::swap(matrix[c * m + k], matrix[c * m + pivots[k]]);
          };
          const std::int64_t begin = part * kLuColumns, end = begin + width_of(part);
          swap_rows(begin, std::min(end, first));
          const std::int64_t right = std::max(begin, behind);
          if (right >= end) return;
          swap_rows(right, end);
          const T* panel = matrix + first * m + first;
          T* of_rows = matrix + right * m + first;
          trsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, in32(width),
               in32(end - right), panel, in32(m), of_rows, in32(m));
          if (behind < m)
            subtract_product(CblasColMajor, CblasNoTrans, in32(m - behind), in32(end - right),
                             in32(width), panel + width, in32(m), of_rows, in32(m), of_rows + width,
                             in32(m));
        }));
  }
  routine->stages.push_back(stage_of(
      x, parts, [=]<class T>(T tag, const RoutineArgs& args, std::int64_t i, std::int64_t part) {
        T* to = result<T>(args, 0, i, m * n) + part * kLuColumns;
        if (failed(args, i)) {
          for (std::int64_t r = 0; r < m; ++r) fill_nan(to + r * n, width_of(part));
        } else {
          copy_transposed(columns_at(tag, args, i) + part * kLuColumns * m, width_of(part), m, m,
                          to, n);
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
