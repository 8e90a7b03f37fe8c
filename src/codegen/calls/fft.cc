// Fourier transforms of the last dimensions: one stage a dimension, its lines in tasks.
#include "ops/linalg/fft.h"
#include "base/message.h"
#include "base/thread_kept.h"
#include "codegen/calls/fft_plan.h"

#include "ir/op.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace tessera::inline v0::codegen {
namespace {

using Number = FftPlan::Number;

struct Memory {
  enum { operand, result, scratch } at;
  const void* read(const RoutineArgs& a) const {
    return at == operand ? a.inputs[0] : at == result ? a.outputs[0] : a.scratch;
  }
  void* write(const RoutineArgs& a) const { return at == result ? a.outputs[0] : a.scratch; }
};

/// Lines (outer, n, inner) that are transformed to (outer, kept, inner).
struct Lines {
  std::shared_ptr<const FftPlan> plan;
  Memory from, to;
  std::int64_t outer, inner, points;
  bool real_in = false, real_out = false, narrow = false;
  double scale = 1;

  std::int64_t read() const { return real_out ? points / 2 + 1 : points; }
  std::int64_t kept() const { return real_in ? points / 2 + 1 : points; }
};

/// Lines side by side in memory are read together: a line alone would use little of what the
/// processor fetches for it.
constexpr std::int64_t kTogether = 8;

template <class T>
void load(const Lines& l, const T* x, std::int64_t stride, std::int64_t lines, Number* to) {
  for (std::int64_t j = 0; j < l.read(); ++j)
    for (std::int64_t b = 0; b < lines; ++b) {
      if constexpr (is_complex_v<T>)
        to[b * l.points + j] = {x[j * stride + b].real(), x[j * stride + b].imag()};
      else
        to[b * l.points + j] = {x[j * stride + b], 0};
    }
  if (!l.real_out) return;
  for (std::int64_t b = 0; b < lines; ++b, to += l.points) {
    to[0].imag(0);
    if (l.points % 2 == 0) to[l.points / 2].imag(0);
    for (std::int64_t k = l.read(); k < l.points; ++k) to[k] = std::conj(to[l.points - k]);
  }
}

template <class T>
void store(const Lines& l, const Number* x, std::int64_t stride, std::int64_t lines, T* to) {
  for (std::int64_t k = 0; k < l.kept(); ++k)
    for (std::int64_t b = 0; b < lines; ++b) {
      const Number z = x[b * l.points + k] * l.scale;
      if constexpr (is_complex_v<T>) {
        using P = typename T::value_type;
        to[k * stride + b] = {static_cast<P>(z.real()), static_cast<P>(z.imag())};
      } else {
        to[k * stride + b] = static_cast<T>(z.real());
      }
    }
}

/// Memory of one thread, kept from call to call unless it was large.
struct Workspace {
  std::vector<Number> in, out, work;
  void tidy() {
    constexpr std::size_t kKeep = std::size_t{1} << 18;
    if (in.size() + work.size() > kKeep) *this = {};
  }
};
Workspace& workspace() {
  thread_local const ThreadKept<Workspace> w;
  return *w;
}

template <class From, class To>
void run_lines(const Lines& l, const From* from, To* to, std::int64_t begin, std::int64_t end) {
  Workspace& w = workspace();
  const std::int64_t most = std::min({kTogether, l.inner, end - begin});
  w.in.resize(static_cast<std::size_t>(most * l.points));
  w.out.resize(w.in.size());
  w.work.resize(l.plan->work_points());
  for (std::int64_t line = begin; line < end;) {
    const std::int64_t o = line / l.inner, i = line % l.inner,
                       lines = std::min({most, l.inner - i, end - line});
    load(l, from + o * l.read() * l.inner + i, l.inner, lines, w.in.data());
    for (std::int64_t b = 0; b < lines; ++b)
      l.plan->run(w.in.data() + b * l.points, w.out.data() + b * l.points, w.work.data());
    store(l, w.out.data(), l.inner, lines, to + o * l.kept() * l.inner + i);
    line += lines;
  }
  w.tidy();
}

template <class P>
void run_lines(const Lines& l, const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
  using C = std::complex<P>;
  const void* from = l.from.read(args);
  void* to = l.to.write(args);
  if (l.real_in)
    run_lines(l, static_cast<const P*>(from), static_cast<C*>(to), begin, end);
  else if (l.real_out)
    run_lines(l, static_cast<const C*>(from), static_cast<P*>(to), begin, end);
  else
    run_lines(l, static_cast<const C*>(from), static_cast<C*>(to), begin, end);
}

double seconds_of(const Lines& l) {
  const auto n = static_cast<double>(l.points);
  return 2e-9 * n * (std::log2(n) + 2) * (l.plan->work_points() > 0 ? 4 : 1);
}

Stage stage_of(const Lines& l) {
  constexpr double kWorthATask = 4e-5;
  const std::int64_t count = l.outer * l.inner;
  std::int64_t together = static_cast<std::int64_t>(kWorthATask / seconds_of(l)) + 1;
  if (l.inner > 1) together = (together + kTogether - 1) / kTogether * kTogether;
  Stage s;
  s.tasks = (count + together - 1) / together;
  s.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * together, last = std::min(count, end * together);
    if (l.narrow)
      run_lines<float>(l, args, first, last);
    else
      run_lines<double>(l, args, first, last);
  };
  return s;
}

// Plans hold numbers for each point where a length has large prime factors.
std::shared_ptr<const FftPlan> plan_of(std::int64_t points, bool backward) {
  try {
    return FftPlan::get(points, backward);
  } catch (const std::bad_alloc&) {
    Message("fft")
        .problem("there is no memory for the roots of unity of " + std::to_string(points) +
                 " points")
        .rule("a length with prime factors above 5 takes some 150 bytes a point")
        .advice("fill up to a length of small factors, or transform shorter stretches")
        .raise<DeviceError>();
  }
}

std::shared_ptr<const Routine> routine_of(const CallArgs& a) {
  const ops::FftKind kind = *ops::fft_kind(a.attrs.str("kind"));
  const bool real_in = kind == ops::FftKind::rfft, real_out = kind == ops::FftKind::irfft,
             backward = real_out || kind == ops::FftKind::ifft;
  const Ints& length = a.attrs.ints("length");
  // What lies before the last dimension is transformed where it is complex: in the result, or
  // before a real result is made.
  const Shape& halved = (real_in ? a.outputs : a.inputs)[0].shape;
  const int last = halved.rank() - 1, first = halved.rank() - static_cast<int>(length.size());
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  Memory from{Memory::operand};
  const auto along = [&](int d) {
    Lines l;
    l.points = length[static_cast<std::size_t>(d - first)];
    l.plan = plan_of(l.points, backward);
    l.outer = l.inner = 1;
    for (int k = 0; k < halved.rank(); ++k)
      if (k != d) (k < d ? l.outer : l.inner) *= halved[static_cast<std::size_t>(k)];
    l.real_in = real_in && d == last;
    l.real_out = real_out && d == last;
    l.narrow = real_dtype(a.inputs[0].dtype) == DType::float32;
    l.scale = backward ? 1 / static_cast<double>(l.points) : 1;
    l.from = from;
    l.to = {real_out && d != last ? Memory::scratch : Memory::result};
    from = l.to;
    routine->seconds += seconds_of(l) * static_cast<double>(l.outer * l.inner);
    routine->stages.push_back(stage_of(l));
  };
  if (!real_out) along(last);
  for (int d = last - 1; d >= first; --d) along(d);
  if (real_out) along(last);
  if (real_out && length.size() > 1)
    routine->scratch_bytes = static_cast<std::size_t>(a.inputs[0].bytes());
  return routine;
}

}  // namespace
}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> fft_call(const CallArgs& a) { return codegen::routine_of(a); }

}  // namespace tessera::inline v0::ops
