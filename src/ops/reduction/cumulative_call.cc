// The routine of running totals: one pass over each row, with several rows side by side. The order
// of a row's additions does not depend on the other rows.
#include "ir/op.h"
#include "ops/combine.h"
#include "ops/reduction/cumulative.h"

#include <algorithm>
#include <type_traits>

namespace tessera::inline v0::ops {

namespace {

/// x as [outer, n, inner]; totals run over n.
struct CumulativeRows {
  std::int64_t outer, n, inner;
  bool reverse;
};

/// The sum of complete runs of kRun elements, for `lanes` sums side by side. Sums are kept per run,
/// per kRun runs, and so on, so that all but the last few additions are to sums of few terms.
template <class A, int lanes>
class Runs {
 public:
  static constexpr std::int64_t kRun = 16;
  static constexpr A kNothing = A(-0.0);  // neutral for addition, even for -0

  Runs() { std::fill(sum, sum + lanes, kNothing); }
  /// Adds the sums of another run, which are overwritten.
  void add(A* run) {
    std::int64_t left = ++count_;
    for (int k = 0;; ++k, left /= kRun) {
      A* level = level_[k];
      if (k == used_) std::fill(level, level + lanes, kNothing), ++used_;
      for (int j = 0; j < lanes; ++j) level[j] += run[j];
      if (left % kRun || k + 1 == kLevels) break;
      for (int j = 0; j < lanes; ++j) run[j] = level[j], level[j] = kNothing;
    }
    std::copy(level_[used_ - 1], level_[used_ - 1] + lanes, sum);
    for (int k = used_ - 1; k-- > 0;)
      for (int j = 0; j < lanes; ++j) sum[j] += level_[k][j];
  }
  A sum[lanes];

 private:
  static constexpr int kLevels = 10;
  A level_[kLevels][lanes];
  std::int64_t count_ = 0;
  int used_ = 0;
};

template <Combiner how, class T>
inline constexpr bool kInRuns = how == Combiner::add&& std::is_floating_point_v<Total<T>>;

constexpr int kSideBySide = 4;  // rows

/// Continues the totals of a run of four rows of floats by `steps` elements, a multiple of four,
/// from `at` on. The rows become lanes, square by square.
struct Lanes {
  typedef float Vector __attribute__((vector_size(16)));
  typedef float InMemory __attribute__((vector_size(16), aligned(4), may_alias));

  static void transpose(Vector (&v)[4]) {
    const Vector a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5),
                 b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5),
                 c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7),
                 d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
  }

  template <bool reverse>
  static void run(const float* x, float* out, std::int64_t n, std::int64_t at, int steps,
                  const float* before, float* run) {
    Vector sums = *reinterpret_cast<const InMemory*>(before),
           total = *reinterpret_cast<const InMemory*>(run);
    for (int done = 0; done < steps; done += 4) {
      const std::int64_t first = reverse ? at - done - 3 : at + done;
      Vector v[4];
      for (int j = 0; j < 4; ++j) v[j] = *reinterpret_cast<const InMemory*>(x + j * n + first);
      transpose(v);
      for (int i = 0; i < 4; ++i) {
        Vector& element = v[reverse ? 3 - i : i];
        total += element;
        element = sums + total;
      }
      transpose(v);
      for (int j = 0; j < 4; ++j) *reinterpret_cast<InMemory*>(out + j * n + first) = v[j];
    }
    *reinterpret_cast<InMemory*>(run) = total;
  }
};

/// Processes `rows` rows; `inner` is 1. Each addition waits for the one before it in its row, so
/// rows side by side take little longer than one.
template <Combiner how, class T, int rows>
void run_rows(const T* x, T* out, const CumulativeRows& r) {
  using A = Total<T>;
  const std::int64_t step = r.reverse ? -1 : 1, n = r.n;
  std::int64_t at = r.reverse ? n - 1 : 0, k = 0;
  if constexpr (kInRuns<how, T>) {
    Runs<A, rows> runs;
    while (k < n) {
      const std::int64_t end = std::min(n, k + runs.kRun);
      A run[rows], before[rows];
      std::fill(run, run + rows, runs.kNothing);
      std::copy(runs.sum, runs.sum + rows, before);
      if constexpr (std::is_same_v<T, float> && rows == kSideBySide)
        if (k + runs.kRun <= n) {
          (r.reverse ? Lanes::run<true> : Lanes::run<false>)(x, out, n, at, runs.kRun, before, run);
          k += runs.kRun;
          at += step * runs.kRun;
        }
      for (; k < end; ++k, at += step)
        for (int j = 0; j < rows; ++j) {
          run[j] += static_cast<A>(x[j * n + at]);
          out[j * n + at] = static_cast<T>(before[j] + run[j]);
        }
      if (k < n) runs.add(run);
    }
  } else {
    A total[rows];
    for (int j = 0; j < rows; ++j) {
      total[j] = static_cast<A>(x[j * n + at]);
      out[j * n + at] = x[j * n + at];
    }
    for (k = 1; k < n; ++k) {
      at += step;
      for (int j = 0; j < rows; ++j) {
        total[j] = ops::combine<how, A>(total[j], static_cast<A>(x[j * n + at]));
        out[j * n + at] = static_cast<T>(total[j]);
      }
    }
  }
}

constexpr std::int64_t kColumns = 256;  // that run_columns takes at most

/// Processes up to kColumns columns of an [n, inner] block, line by line.
template <Combiner how, class T>
void run_columns(const T* x, T* out, const CumulativeRows& r, std::int64_t c, std::int64_t lanes) {
  using A = Total<T>;
  constexpr int kLanes = static_cast<int>(kColumns);
  std::int64_t at = (r.reverse ? r.n - 1 : 0) * r.inner + c, k = 0,
               step = r.reverse ? -r.inner : r.inner;
  if constexpr (kInRuns<how, T>) {
    Runs<A, kLanes> runs;
    while (k < r.n) {
      A run[kLanes];
      std::fill(run, run + kLanes, runs.kNothing);
      for (std::int64_t end = std::min(r.n, k + runs.kRun); k < end; ++k, at += step)
        for (std::int64_t j = 0; j < lanes; ++j) {
          run[j] += static_cast<A>(x[at + j]);
          out[at + j] = static_cast<T>(runs.sum[j] + run[j]);
        }
      if (k < r.n) runs.add(run);
    }
  } else {
    A total[kLanes];
    for (std::int64_t j = 0; j < lanes; ++j) {
      total[j] = static_cast<A>(x[at + j]);
      out[at + j] = x[at + j];
    }
    for (k = 1; k < r.n; ++k) {
      at += step;
      for (std::int64_t j = 0; j < lanes; ++j) {
        total[j] = ops::combine<how, A>(total[j], static_cast<A>(x[at + j]));
        out[at + j] = static_cast<T>(total[j]);
      }
    }
  }
}

constexpr std::int64_t kTaskElements = 1 << 15;

// The loops of one combiner and one type of elements; positions are those of elements.
struct CumulativeLoops {
  /// From the row at `at` on, `count` rows.
  void (*rows)(const RoutineArgs& a, std::int64_t at, const CumulativeRows& r, std::int64_t count);
  void (*columns)(const RoutineArgs& a, std::int64_t at, const CumulativeRows& r, std::int64_t c,
                  std::int64_t lanes);
};
CumulativeLoops cumulative_loops_of(Combiner how, DType dtype) {
  return with_combined(how, dtype, [](auto h, auto tag) {
    using T = decltype(tag);
    return CumulativeLoops{
        [](const RoutineArgs& a, std::int64_t at, const CumulativeRows& r, std::int64_t count) {
          const T* x = static_cast<const T*>(a.inputs[0]) + at;
          T* out = static_cast<T*>(a.outputs[0]) + at;
          std::int64_t k = 0;
          for (; k + kSideBySide <= count; k += kSideBySide)
            run_rows<decltype(h)::value, T, kSideBySide>(x + k * r.n, out + k * r.n, r);
          for (; k < count; ++k) run_rows<decltype(h)::value, T, 1>(x + k * r.n, out + k * r.n, r);
        },
        [](const RoutineArgs& a, std::int64_t at, const CumulativeRows& r, std::int64_t c,
           std::int64_t lanes) {
          run_columns<decltype(h)::value>(static_cast<const T*>(a.inputs[0]) + at,
                                          static_cast<T*>(a.outputs[0]) + at, r, c, lanes);
        }};
  });
}

Stage stage(const CumulativeRows& r, const CumulativeLoops& loops) {
  Stage s;
  if (r.inner == 1) {
    constexpr std::int64_t kManyTasks = 16;
    const std::int64_t least = std::clamp<std::int64_t>(r.outer / kManyTasks, 1, kSideBySide),
                       rows = std::max(least, kTaskElements / r.n);
    s.tasks = (r.outer + rows - 1) / rows;
    s.run = [r, rows, f = loops.rows](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      const std::int64_t first = begin * rows;
      f(a, first * r.n, r, std::min(r.outer, end * rows) - first);
    };
    return s;
  }
  // Each block of columns is a whole number of cache lines, so that tasks do not write to the same
  // line.
  std::int64_t columns = std::max<std::int64_t>(64, kTaskElements / r.n / 64 * 64);
  std::int64_t across = (r.inner + columns - 1) / columns;
  s.tasks = r.outer * across;
  s.run = [r, columns, across, f = loops.columns](const RoutineArgs& a, std::int64_t begin,
                                                  std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      std::int64_t block = t / across * r.n * r.inner, c = t % across * columns;
      for (std::int64_t last = std::min(r.inner, c + columns); c < last; c += kColumns)
        f(a, block, r, c, std::min(kColumns, last - c));
    }
  };
  return s;
}

}  // namespace

std::shared_ptr<const Routine> cumulative_call(const CallArgs& a) {
  const Shape& shape = a.inputs[0].shape;
  CumulativeRows r{1, 1, 1, a.attrs.flag("reverse")};
  std::int64_t axis = a.attrs.i("axis");
  for (std::int64_t d = 0; d < shape.rank(); ++d)
    (d < axis ? r.outer : d == axis ? r.n : r.inner) *= shape[static_cast<std::size_t>(d)];
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 1e-9 * static_cast<double>(shape.count());
  routine->stages.push_back(stage(r, cumulative_loops_of(a.op.combiner, a.inputs[0].dtype)));
  return routine;
}

}  // namespace tessera::inline v0::ops
