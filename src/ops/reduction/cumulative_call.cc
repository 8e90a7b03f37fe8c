// The routine of running totals: one pass over each row, with several rows side by side if the axis
// is not the last.
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

/// Processes one row; `inner` is 1.
template <Combiner how, class T>
void run_row(const T* x, T* out, const CumulativeRows& r) {
  using A = Total<T>;
  std::int64_t step = r.reverse ? -1 : 1, at = r.reverse ? r.n - 1 : 0, k = 0;
  if constexpr (kInRuns<how, T>) {
    Runs<A, 1> runs;
    while (k < r.n) {
      A run = runs.kNothing;
      for (std::int64_t end = std::min(r.n, k + runs.kRun); k < end; ++k, at += step) {
        run += static_cast<A>(x[at]);
        out[at] = static_cast<T>(runs.sum[0] + run);
      }
      if (k < r.n) runs.add(&run);
    }
  } else {
    auto total = static_cast<A>(x[at]);
    out[at] = x[at];
    for (k = 1; k < r.n; ++k) {
      at += step;
      total = ops::combine<how, A>(total, static_cast<A>(x[at]));
      out[at] = static_cast<T>(total);
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
  void (*row)(const RoutineArgs& a, std::int64_t at, const CumulativeRows& r);
  void (*columns)(const RoutineArgs& a, std::int64_t at, const CumulativeRows& r, std::int64_t c,
                  std::int64_t lanes);
};
CumulativeLoops cumulative_loops_of(Combiner how, DType dtype) {
  return with_combined(how, dtype, [](auto h, auto tag) {
    using T = decltype(tag);
    return CumulativeLoops{[](const RoutineArgs& a, std::int64_t at, const CumulativeRows& r) {
                             run_row<decltype(h)::value>(static_cast<const T*>(a.inputs[0]) + at,
                                                         static_cast<T*>(a.outputs[0]) + at, r);
                           },
                           [](const RoutineArgs& a, std::int64_t at, const CumulativeRows& r,
                              std::int64_t c, std::int64_t lanes) {
                             run_columns<decltype(h)::value>(
                                 static_cast<const T*>(a.inputs[0]) + at,
                                 static_cast<T*>(a.outputs[0]) + at, r, c, lanes);
                           }};
  });
}

Stage stage(const CumulativeRows& r, const CumulativeLoops& loops) {
  Stage s;
  if (r.inner == 1) {
    std::int64_t rows = std::max<std::int64_t>(1, kTaskElements / r.n);
    s.tasks = (r.outer + rows - 1) / rows;
    s.run = [r, rows, row = loops.row](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin * rows; k < std::min(r.outer, end * rows); ++k)
        row(a, k * r.n, r);
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
