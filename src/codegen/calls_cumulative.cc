// Running totals: one pass over each row, rows side by side where the axis is not the last.
#include "codegen/calls_internal.h"
#include "ops/combine.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

namespace {

using ops::Combine;
using ops::Total;

/// x as [outer, n, inner]; totals run over n.
struct Rows {
  std::int64_t outer, n, inner;
  bool reverse;
};

/// One row after the other; `inner` is 1.
template <Combine how, class T>
void run_row(const T* x, T* out, const Rows& r) {
  std::int64_t step = r.reverse ? -1 : 1, at = r.reverse ? r.n - 1 : 0;
  auto total = static_cast<Total<T>>(x[at]);
  out[at] = x[at];
  for (std::int64_t k = 1; k < r.n; ++k) {
    at += step;
    total = ops::combine<how, Total<T>>(total, static_cast<Total<T>>(x[at]));
    out[at] = static_cast<T>(total);
  }
}

/// Columns [begin, end) of one [n, inner] block, a line at a time.
template <Combine how, class T>
void run_columns(const T* x, T* out, const Rows& r, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kLanes = 256;
  Total<T> total[kLanes];
  for (std::int64_t c = begin; c < end; c += kLanes) {
    std::int64_t lanes = std::min(kLanes, end - c);
    std::int64_t at = (r.reverse ? r.n - 1 : 0) * r.inner + c,
                 step = r.reverse ? -r.inner : r.inner;
    for (std::int64_t j = 0; j < lanes; ++j) {
      total[j] = static_cast<Total<T>>(x[at + j]);
      out[at + j] = x[at + j];
    }
    for (std::int64_t k = 1; k < r.n; ++k) {
      at += step;
      for (std::int64_t j = 0; j < lanes; ++j) {
        total[j] = ops::combine<how, Total<T>>(total[j], static_cast<Total<T>>(x[at + j]));
        out[at + j] = static_cast<T>(total[j]);
      }
    }
  }
}

constexpr std::int64_t kTaskElements = 1 << 15;

template <Combine how, class T>
Stage stage(const Rows& r) {
  Stage s;
  if (r.inner == 1) {
    std::int64_t rows = std::max<std::int64_t>(1, kTaskElements / r.n);
    s.tasks = (r.outer + rows - 1) / rows;
    s.run = [r, rows](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      const T* x = static_cast<const T*>(a.inputs[0]);
      T* out = static_cast<T*>(a.outputs[0]);
      for (std::int64_t k = begin * rows; k < std::min(r.outer, end * rows); ++k)
        run_row<how>(x + k * r.n, out + k * r.n, r);
    };
    return s;
  }
  // Each block of columns is a whole number of cache lines, so that neighbours do not write to one
  // line.
  std::int64_t columns = std::max<std::int64_t>(64, kTaskElements / r.n / 64 * 64);
  std::int64_t across = (r.inner + columns - 1) / columns;
  s.tasks = r.outer * across;
  s.run = [r, columns, across](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
    const T* x = static_cast<const T*>(a.inputs[0]);
    T* out = static_cast<T*>(a.outputs[0]);
    for (std::int64_t t = begin; t < end; ++t) {
      std::int64_t block = t / across * r.n * r.inner, c = t % across * columns;
      run_columns<how>(x + block, out + block, r, c, std::min(r.inner, c + columns));
    }
  };
  return s;
}

}  // namespace

std::shared_ptr<const Routine> cumulative_call(const CallArgs& a) {
  const Shape& shape = a.inputs[0].shape;
  Rows r{1, 1, 1, a.attrs.flag("reverse")};
  std::int64_t axis = a.attrs.i("axis");
  for (std::int64_t d = 0; d < shape.rank(); ++d)
    (d < axis ? r.outer : d == axis ? r.n : r.inner) *= shape[static_cast<std::size_t>(d)];
  Combine how = a.op.name == "cumsum"    ? Combine::add
                : a.op.name == "cumprod" ? Combine::mul
                : a.op.name == "cummax"  ? Combine::max
                                         : Combine::min;
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 1e-9 * static_cast<double>(shape.count());
  ops::with_combine(how, [&](auto h) {
    dispatch(a.inputs[0].dtype,
             [&](auto tag) { routine->stages.push_back(stage<h.value, decltype(tag)>(r)); });
  });
  return routine;
}

}  // namespace tessera::inline v0::codegen
