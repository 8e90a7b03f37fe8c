// Cholesky factorisation of a few large float or double matrices, right-looking. The blocks on and
// below the diagonal are packed in panels while they are worked on. In each step the diagonal block
// is factored, the panels below it are solved (one per task), and the trailing blocks are updated
// (one per task). The task of the next diagonal block comes first and also factors it, while the
// others are still being updated. Tasks follow from the shape alone, so the bits do not depend on
// the number of threads. (Golub and Van Loan, Matrix Computations, 4th edition, 4.2.9.)
#include "codegen/calls/factorisation_stages.h"
#include "codegen/calls/matrix_copy.h"
#include "codegen/calls/panels.h"

namespace tessera::inline v0::codegen {
namespace {

// The locations of the packed blocks of matrices with n rows.
template <class T>
class Packed {
 public:
  using P = Panels<T>;
  Packed(ScratchPlan& scratch, std::int64_t count, std::int64_t n)
      : n_(n),
        parts_(parts_of(n, P::kBlock)),
        matrix_(blocks(parts_) * P::kElements + parts_ * P::kBlock),
        at_(scratch.add(static_cast<std::size_t>(count * matrix_) * sizeof(T))) {}

  static std::int64_t blocks(std::int64_t parts) { return parts * (parts + 1) / 2; }
  /// Row and column of block number `task`, in row-major order.
  static std::pair<std::int64_t, std::int64_t> place(std::int64_t task) {
    std::int64_t row = 0;
    while (blocks(row + 1) <= task) ++row;
    return {row, task - blocks(row)};
  }
  T* block(const RoutineArgs& args, std::int64_t matrix, std::int64_t row,
           std::int64_t column) const {
    return begin(args, matrix) + (blocks(row) + column) * P::kElements;
  }
  T* inverses(const RoutineArgs& args, std::int64_t matrix, std::int64_t part) const {
    return begin(args, matrix) + blocks(parts_) * P::kElements + part * P::kBlock;
  }
  std::int64_t rows(std::int64_t part) const { return std::min(P::kBlock, n_ - part * P::kBlock); }

 private:
  T* begin(const RoutineArgs& args, std::int64_t matrix) const {
    return reinterpret_cast<T*>(static_cast<char*>(args.scratch) + at_) + matrix * matrix_;
  }
  std::int64_t n_, parts_, matrix_;
  std::size_t at_;
};

// Calls f(panel, first row, rows) for each panel of a block with `rows` rows.
template <class T, class F>
void each_panel(T* block, std::int64_t rows, F f) {
  using P = Panels<std::remove_const_t<T>>;
  for (std::int64_t r = 0; r < rows; r += P::kRows)
    f(block + r / P::kRows * P::kPanel, r, std::min(P::kRows, rows - r));
}

// Packs the lower triangle of a diagonal block, with ones on the diagonal of its unused rows.
template <class T>
void pack_triangle(const T* x, std::int64_t n, std::int64_t rows, T* block) {
  using P = Panels<T>;
  each_panel(block, rows, [&](T* panel, std::int64_t first, std::int64_t height) {
    P::pack_rows(x + first * n, n, height, first, panel);
    std::fill(panel + first * P::kRows, panel + (first + P::kRows) * P::kRows, T(0));
    for (std::int64_t r = 0; r < P::kRows; ++r) {
      T* to = panel + first * P::kRows + r;
      for (std::int64_t c = 0; r < height && c <= r; ++c)
        to[c * P::kRows] = x[(first + r) * n + first + c];
      if (r >= height) to[r * P::kRows] = 1;
    }
  });
}
// Unpacks the triangle, with zeros above it.
template <class T>
void unpack_triangle(const T* block, std::int64_t rows, T* x, std::int64_t n) {
  using P = Panels<T>;
  each_panel(block, rows, [&](const T* panel, std::int64_t first, std::int64_t height) {
    P::unpack_rows(panel, height, first, x + first * n, n);
    for (std::int64_t r = 0; r < height; ++r) {
      T* to = x + (first + r) * n;
      for (std::int64_t c = 0; c <= r; ++c) to[first + c] = panel[(first + c) * P::kRows + r];
      std::fill(to + first + r + 1, to + rows, T(0));
    }
  });
}

template <class T>
std::shared_ptr<const Routine> routine_for(const CallArgs& a, const Matrices& x) {
  using P = Panels<T>;
  const std::int64_t n = x.n, parts = parts_of(n, P::kBlock);
  ScratchPlan scratch;
  const Failures failed(scratch, x.count);
  const Packed<T> packed(scratch, x.count, n);
  auto routine = begun(a, x, 0.4);
  const auto stage = [&](std::int64_t tasks, auto run) {
    routine->stages.push_back(
        stage_of(x, tasks, [=](auto, const RoutineArgs& args, std::int64_t i, std::int64_t task) {
          run(args, i, task);
        }));
  };
  // A non-finite element always leads to a non-finite pivot, which fails here.
  const auto factor = [=](const RoutineArgs& args, std::int64_t i, std::int64_t part) {
    if (!P::factor(packed.block(args, i, part, part), packed.rows(part),
                   packed.inverses(args, i, part)))
      failed(args, i) = 1;
  };
  const auto unpack_diagonal = [=](const RoutineArgs& args, std::int64_t i, std::int64_t part) {
    unpack_triangle(packed.block(args, i, part, part), packed.rows(part),
                    result<T>(args, 0, i, n * n) + part * P::kBlock * (n + 1), n);
  };

  stage(1, [=](const RoutineArgs& args, std::int64_t i, std::int64_t) { failed(args, i) = 0; });
  stage(packed.blocks(parts), [=](const RoutineArgs& args, std::int64_t i, std::int64_t task) {
    const auto [row, column] = packed.place(task);
    const T* from = operand<T>(args, 0, i, n * n) + row * P::kBlock * n + column * P::kBlock;
    T* block = packed.block(args, i, row, column);
    if (row == column) return pack_triangle(from, n, packed.rows(row), block);
    each_panel(block, packed.rows(row), [&](T* panel, std::int64_t first, std::int64_t rows) {
      P::pack_rows(from + first * n, n, rows, P::kBlock, panel);
    });
    T* above = result<T>(args, 0, i, n * n) + column * P::kBlock * n + row * P::kBlock;
    for (std::int64_t r = 0; r < P::kBlock; ++r)
      std::fill(above + r * n, above + r * n + packed.rows(row), T(0));
  });
  stage(1, [=](const RoutineArgs& args, std::int64_t i, std::int64_t) { factor(args, i, 0); });
  for (std::int64_t k = 0; k + 1 < parts; ++k) {
    const std::int64_t behind = (k + 1) * P::kBlock;
    stage(1 + parts_of(n - behind, P::kRows), [=](const RoutineArgs& args, std::int64_t i,
                                                  std::int64_t task) {
      if (failed(args, i)) return;
      if (task == 0) return unpack_diagonal(args, i, k);
      const std::int64_t row = behind + (task - 1) * P::kRows;
      T* panel = packed.block(args, i, row / P::kBlock, k) + row % P::kBlock / P::kRows * P::kPanel;
      P::solve(packed.block(args, i, k, k), packed.inverses(args, i, k), P::kBlock, panel);
      P::unpack_rows(panel, std::min(P::kRows, n - row), P::kBlock,
                     result<T>(args, 0, i, n * n) + row * n + k * P::kBlock, n);
    });
    stage(packed.blocks(parts - k - 1),
          [=](const RoutineArgs& args, std::int64_t i, std::int64_t task) {
            if (failed(args, i)) return;
            const auto [below, right] = packed.place(task);
            const std::int64_t row = k + 1 + below, column = k + 1 + right;
            const T* left = packed.block(args, i, row, k);
            each_panel(packed.block(args, i, row, column), packed.rows(row),
                       [&](T* panel, std::int64_t first, std::int64_t) {
                         P::subtract_product(left + first / P::kRows * P::kPanel,
                                             packed.block(args, i, column, k), P::kBlock,
                                             row == column ? first + P::kRows : P::kBlock, panel);
                       });
            if (task == 0) factor(args, i, k + 1);
          });
  }
  stage(1, [=](const RoutineArgs& args, std::int64_t i, std::int64_t) {
    if (!failed(args, i)) return unpack_diagonal(args, i, parts - 1);
    fill_no_factor(result<T>(args, 0, i, n * n), n);
  });
  routine->scratch_bytes = scratch.size();
  return routine;
}

}  // namespace

std::shared_ptr<const Routine> cholesky_in_panels(const CallArgs& a, const Matrices& x) {
  return x.dtype == DType::float32 ? routine_for<float>(a, x) : routine_for<double>(a, x);
}

}  // namespace tessera::inline v0::codegen
