// Fourier transforms of the last dimensions: one or two stages per dimension, with lines as tasks.
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

struct Memory {
  enum { operand, result, scratch } at;
  const void* read(const RoutineArgs& a) const {
    return at == operand ? a.inputs[0] : at == result ? a.outputs[0] : a.scratch;
  }
  void* write(const RoutineArgs& a) const { return at == result ? a.outputs[0] : a.scratch; }
};

/// Transforms lines (outer, n, inner) to (outer, kept, inner).
template <class P>
struct Lines {
  /// The plan for `points` points, or for half as many if there are `roots`.
  std::shared_ptr<const FftPlan<P>> plan;
  /// The numbers exp(-2 pi i k / points) up to k = points / 2, if each real line is transformed as
  /// the complex numbers x(2j) + i x(2j + 1); else null. That is half the work.
  std::shared_ptr<const std::vector<std::complex<P>>> roots = nullptr;
  Memory from, to;
  std::int64_t outer, inner, points;
  bool real_in = false, real_out = false, backward = false;

  std::int64_t count() const { return outer * inner; }
  std::int64_t read() const { return real_out ? points / 2 + 1 : points; }
  std::int64_t kept() const { return real_in ? points / 2 + 1 : points; }
  std::int64_t from_begin(std::int64_t line) const {
    return line / inner * read() * inner + line % inner;
  }
  std::int64_t to_begin(std::int64_t line) const {
    return line / inner * kept() * inner + line % inner;
  }
};

/// The workspace of one thread, kept between calls unless it is large.
template <class P>
struct FftWorkspace {
  std::vector<FftPoint<P>> points;
  std::vector<std::complex<P>> numbers;
  void make_room(std::int64_t of_points, std::int64_t of_numbers) {
    if (std::ssize(points) < of_points) points.resize(static_cast<std::size_t>(of_points));
    if (std::ssize(numbers) < of_numbers) numbers.resize(static_cast<std::size_t>(of_numbers));
  }
  void tidy() {
    constexpr std::size_t kKeep = std::size_t{4} << 20;  // bytes
    if (points.size() * sizeof points[0] + numbers.size() * sizeof numbers[0] > kKeep) *this = {};
  }
};
template <class P>
FftWorkspace<P>& workspace() {
  thread_local const ThreadKept<FftWorkspace<P>> w;
  return *w;
}

/// Reads and writes the elements of lines in the form that plans use. Backward transforms exchange
/// real and imaginary parts. A real result is computed from the first half of the input, extended
/// by symmetry.
template <class P, class From, class To>
class Elements {
 public:
  using Number = std::complex<P>;
  Elements(const Lines<P>& lines, const RoutineArgs& args)
      : l_(lines),
        from_(static_cast<const From*>(lines.from.read(args))),
        to_(static_cast<To*>(lines.to.write(args))),
        scale_(lines.backward ? P(1) / static_cast<P>(lines.points) : P(1)) {}

  Number read(std::int64_t begin, std::int64_t j) const {
    if (j < l_.read()) return first(begin, j);
    const Number z = first(begin, l_.points - j);  // its conjugate, with parts exchanged
    return {-z.real(), z.imag()};
  }
  void write(std::int64_t begin, std::int64_t k, Number z) const {
    if (k >= l_.kept()) return;
    if (l_.backward) z = {z.imag(), z.real()};
    To& to = to_[begin + k * l_.inner];
    if constexpr (is_complex_v<To>)
      to = {z.real() * scale_, z.imag() * scale_};
    else
      to = z.real() * scale_;
  }

  using Point = FftPoint<P>;
  // Loads lines from `line` on, one per lane.
  void load(std::int64_t line, std::int64_t lines, Point* x) const {
    std::int64_t begins[Point::kLanes];
    for (std::int64_t c = 0; c < lines; ++c) begins[c] = l_.from_begin(line + c);
    if constexpr (is_complex_v<From>)
      if (lines == Point::kLanes && l_.inner == 1 && !l_.backward) {
        const P* from[Point::kLanes];
        for (std::int64_t c = 0; c < lines; ++c)
          from[c] = reinterpret_cast<const P*>(from_ + begins[c]);
        return lines_to_points(from, l_.points, x);
      }
    if (lines < Point::kLanes) std::fill(x, x + l_.points, Point{});
    const auto put = [&](std::int64_t j, std::int64_t c, std::int64_t begin) {
      const Number z = first(begin, j);
      x[j].re[c] = z.real();
      x[j].im[c] = z.imag();
    };
    if (side_by_side(begins, lines)) {
      for (std::int64_t j = 0; j < l_.read(); ++j)
        for (std::int64_t c = 0; c < Point::kLanes; ++c) put(j, c, begins[0] + c);
    } else {
      for (std::int64_t j = 0; j < l_.read(); j += kFetched)
        for (std::int64_t c = 0; c < lines; ++c)
          for (std::int64_t i = j; i < std::min(j + kFetched, l_.read()); ++i) put(i, c, begins[c]);
    }
    for (std::int64_t j = l_.read(); j < l_.points; ++j)
      x[j] = {-x[l_.points - j].re, x[l_.points - j].im};
  }
  // Loads real lines as half as many complex numbers.
  void load_pairs(std::int64_t line, std::int64_t lines, Point* x) const {
    std::int64_t begins[Point::kLanes];
    for (std::int64_t c = 0; c < lines; ++c) begins[c] = l_.from_begin(line + c);
    const std::int64_t half = l_.points / 2;
    if constexpr (!is_complex_v<From>)
      if (lines == Point::kLanes && l_.inner == 1) {
        const P* from[Point::kLanes];
        for (std::int64_t c = 0; c < lines; ++c) from[c] = from_ + begins[c];
        return lines_to_points(from, half, x);
      }
    if (lines < Point::kLanes) std::fill(x, x + half, Point{});
    for (std::int64_t j = 0; j < half; j += kFetched)
      for (std::int64_t c = 0; c < lines; ++c)
        for (std::int64_t i = j; i < std::min(j + kFetched, half); ++i) {
          x[i].re[c] = first(begins[c], 2 * i).real();
          x[i].im[c] = first(begins[c], 2 * i + 1).real();
        }
  }
  void store(std::int64_t line, std::int64_t lines, const Point* x) const {
    std::int64_t begins[Point::kLanes];
    for (std::int64_t c = 0; c < lines; ++c) begins[c] = l_.to_begin(line + c);
    if constexpr (is_complex_v<To>)
      if (lines == Point::kLanes && l_.inner == 1 && !l_.backward) {
        P* to[Point::kLanes];
        for (std::int64_t c = 0; c < lines; ++c) to[c] = reinterpret_cast<P*>(to_ + begins[c]);
        return points_to_lines(x, l_.kept(), to);
      }
    const auto take = [&](std::int64_t k, std::int64_t c, std::int64_t begin) {
      write(begin, k, {x[k].re[c], x[k].im[c]});
    };
    if (side_by_side(begins, lines)) {
      for (std::int64_t k = 0; k < l_.kept(); ++k)
        for (std::int64_t c = 0; c < Point::kLanes; ++c) take(k, c, begins[0] + c);
    } else {
      for (std::int64_t k = 0; k < l_.kept(); k += kFetched)
        for (std::int64_t c = 0; c < lines; ++c)
          for (std::int64_t i = k; i < std::min(k + kFetched, l_.kept()); ++i)
            take(i, c, begins[c]);
    }
  }

 private:
  Number first(std::int64_t begin, std::int64_t j) const {
    Number z;
    if constexpr (is_complex_v<From>) {
      const From v = from_[begin + j * l_.inner];
      z = {v.real(), v.imag()};
    } else {
      z = {from_[begin + j * l_.inner], 0};
    }
    if (l_.real_out && (j == 0 || 2 * j == l_.points)) z.imag(0);
    if (l_.backward) z = {z.imag(), z.real()};
    return z;
  }
  // Numbers per cache line. Lines of 2^k points map to few cache sets and must not evict each
  // other, so whole cache lines are consumed at once.
  static constexpr std::int64_t kFetched = FftPoint<P>::kFetched;
  static bool side_by_side(const std::int64_t* begins, std::int64_t lines) {
    return lines == Point::kLanes && begins[lines - 1] - begins[0] == lines - 1;
  }
  const Lines<P>& l_;
  const From* const from_;
  To* const to_;
  const P scale_;
};

template <class P, class F>
void with_elements(const Lines<P>& l, const RoutineArgs& args, F f) {
  using C = std::complex<P>;
  if (l.real_in)
    f(Elements<P, P, C>(l, args));
  else if (l.real_out)
    f(Elements<P, C, P>(l, args));
  else
    f(Elements<P, C, C>(l, args));
}

// Transforms whole lines.
template <class P>
void run_lines(const Lines<P>& l, const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
  FftWorkspace<P>& w = workspace<P>();
  const FftPlan<P>& plan = *l.plan;
  with_elements(l, args, [&](const auto& elements) {
    if (l.roots) {
      const std::int64_t half = l.points / 2;
      w.make_room(2 * (half + 1) + plan.lanes->work_points(), 0);
      FftPoint<P>* const x = w.points.data();
      for (std::int64_t line = begin; line < end; line += FftPoint<P>::kLanes) {
        const std::int64_t lines = std::min(FftPoint<P>::kLanes, end - line);
        elements.load_pairs(line, lines, x);
        FftPoint<P>* const z = plan.lanes->run(x, x + half + 1);
        unpair_points(z, half, l.roots->data());
        elements.store(line, lines, z);
      }
      w.tidy();
      return;
    }
    if (plan.lanes) {
      w.make_room(l.points + plan.lanes->work_points(), 0);
      for (std::int64_t line = begin; line < end; line += FftPoint<P>::kLanes) {
        const std::int64_t lines = std::min(FftPoint<P>::kLanes, end - line);
        elements.load(line, lines, w.points.data());
        elements.store(line, lines, plan.lanes->run(w.points.data(), w.points.data() + l.points));
      }
      return;
    }
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t from = l.from_begin(line), to = l.to_begin(line);
      const auto read = [&](std::int64_t j) { return elements.read(from, j); };
      const auto write = [&](std::int64_t k, std::complex<P> z) { elements.write(to, k, z); };
      if (plan.matrix) {
        const FftMatrix<P>& m = *plan.matrix;
        w.make_room(m.space_points(), m.half_numbers());
        for (std::int64_t t = 0; t < m.column_tasks(); ++t)
          m.columns(read, w.numbers.data(), w.points.data(), t);
        for (std::int64_t t = 0; t < m.row_tasks(); ++t)
          m.rows(w.numbers.data(), w.points.data(), t, write);
        continue;
      }
      const FftConvolved<P>& c = *plan.convolved;
      w.make_room(c.space_points(), l.points + c.work_numbers());
      std::complex<P>* const x = w.numbers.data();
      for (std::int64_t j = 0; j < l.points; ++j) x[j] = read(j);
      c.run(x, x + l.points, w.points.data());
      for (std::int64_t k = 0; k < l.points; ++k) write(k, x[k]);
    }
  });
  w.tidy();
}

template <class P>
double seconds_of(const Lines<P>& l) {
  const auto n = static_cast<double>(l.points);
  return (l.roots ? 2e-10 : 4e-10) * n * (std::log2(n) + 4) * (is_fft_smooth(l.points) ? 1 : 6);
}

// Groups `count` pieces of the given duration into tasks.
template <class F>
Stage stage_of(std::int64_t count, double seconds, std::int64_t multiple, const F& run) {
  constexpr double kWorthATask = 4e-5;
  const std::int64_t pieces = static_cast<std::int64_t>(kWorthATask / seconds) + 1;
  const std::int64_t together = (pieces + multiple - 1) / multiple * multiple;
  Stage s;
  s.tasks = (count + together - 1) / together;
  s.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    run(args, begin * together, std::min(count, end * together));
  };
  return s;
}

// A few long lines are cut, so that several workers share each line. Between the two stages they
// are in scratch memory after `used` bytes. Returns their bytes.
template <class P>
std::size_t add_stages(Routine& routine, const Lines<P>& l, std::size_t used) {
  const double seconds = seconds_of(l);
  routine.seconds += seconds * static_cast<double>(l.count());
  constexpr std::int64_t kFew = 8;
  if (!l.plan->matrix || l.count() >= kFew) {
    routine.stages.push_back(stage_of(l.count(), seconds, l.plan->lanes ? FftPoint<P>::kLanes : 1,
                                      [l](const RoutineArgs& args, std::int64_t begin,
                                          std::int64_t end) { run_lines(l, args, begin, end); }));
    return 0;
  }
  const auto half = [l, used](const RoutineArgs& args, std::int64_t line) {
    return reinterpret_cast<std::complex<P>*>(static_cast<std::byte*>(args.scratch) + used) +
           line * l.plan->matrix->half_numbers();
  };
  // Adds `tasks` tasks per line; each gets the number of its line, its own number, and memory.
  const auto add = [&](std::int64_t tasks, auto task) {
    routine.stages.push_back(
        stage_of(l.count() * tasks, seconds / static_cast<double>(2 * tasks), 1,
                 [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
                   FftWorkspace<P>& w = workspace<P>();
                   w.make_room(l.plan->matrix->space_points(), 0);
                   with_elements(l, args, [&](const auto& elements) {
                     for (std::int64_t t = begin; t < end; ++t)
                       task(elements, t / tasks, half(args, t / tasks), w.points.data(), t % tasks);
                   });
                   w.tidy();
                 }));
  };
  add(l.plan->matrix->column_tasks(),
      [l](const auto& elements, std::int64_t line, std::complex<P>* half, FftPoint<P>* space,
          std::int64_t task) {
        const std::int64_t from = l.from_begin(line);
        l.plan->matrix->columns([&](std::int64_t j) { return elements.read(from, j); }, half, space,
                                task);
      });
  add(l.plan->matrix->row_tasks(),
      [l](const auto& elements, std::int64_t line, const std::complex<P>* half, FftPoint<P>* space,
          std::int64_t task) {
        const std::int64_t to = l.to_begin(line);
        l.plan->matrix->rows(half, space, task,
                             [&](std::int64_t k, std::complex<P> z) { elements.write(to, k, z); });
      });
  return static_cast<std::size_t>(l.count() * l.plan->matrix->half_numbers()) *
         sizeof(std::complex<P>);
}

// For lengths with large prime factors, plans store several numbers per point.
template <class P>
std::shared_ptr<const FftPlan<P>> plan_of(std::int64_t points) {
  try {
    return FftPlan<P>::get(points);
  } catch (const std::bad_alloc&) {
    Message("fft")
        .problem("there is no memory for the roots of unity of " + std::to_string(points) +
                 " points")
        .rule("a length with prime factors above 23 takes some 150 bytes a point")
        .advice("fill up to a length of small factors, or transform shorter stretches")
        .raise<DeviceError>();
  }
}

// Sets the plan of `l`. Whether pairs are transformed depends on the length alone, as does the
// plan.
template <class P>
void choose_plan(Lines<P>& l) {
  if (l.real_in && l.points % 2 == 0)
    if (auto half = plan_of<P>(l.points / 2); half->lanes) {
      auto roots = std::make_shared<std::vector<std::complex<P>>>();
      for (std::int64_t k = 0; k <= l.points / 2; ++k) {
        const std::complex<double> root = std::conj(ops::unit_root(k, l.points));
        roots->emplace_back(static_cast<P>(root.real()), static_cast<P>(root.imag()));
      }
      l.roots = std::move(roots);
      l.plan = std::move(half);
      return;
    }
  l.plan = plan_of<P>(l.points);
}

template <class P>
std::shared_ptr<const Routine> fft_routine(const CallArgs& a) {
  const ops::FftKind kind = *ops::fft_kind(a.attrs.str("kind"));
  const bool real_in = kind == ops::FftKind::rfft, real_out = kind == ops::FftKind::irfft;
  const Ints& length = a.attrs.ints("length");
  // Dimensions before the last are transformed while the data is complex: in the result, or before
  // a real result is computed.
  const Shape& halved = (real_in ? a.outputs : a.inputs)[0].shape;
  const int last = halved.rank() - 1, first = halved.rank() - static_cast<int>(length.size());
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  Memory from{Memory::operand};
  const std::size_t between = real_out && length.size() > 1
                                  ? static_cast<std::size_t>(a.inputs[0].bytes() + 63) / 64 * 64
                                  : 0;
  std::size_t halves = 0;
  const auto along = [&](int d) {
    Lines<P> l;
    l.points = length[static_cast<std::size_t>(d - first)];
    l.outer = l.inner = 1;
    for (int k = 0; k < halved.rank(); ++k)
      if (k != d) (k < d ? l.outer : l.inner) *= halved[static_cast<std::size_t>(k)];
    l.real_in = real_in && d == last;
    choose_plan(l);
    l.real_out = real_out && d == last;
    l.backward = real_out || kind == ops::FftKind::ifft;
    l.from = from;
    l.to = {real_out && d != last ? Memory::scratch : Memory::result};
    from = l.to;
    halves = std::max(halves, add_stages(*routine, l, between));
  };
  if (!real_out) along(last);
  for (int d = last - 1; d >= first; --d) along(d);
  if (real_out) along(last);
  routine->scratch_bytes = between + halves;
  return routine;
}

}  // namespace
}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> fft_call(const CallArgs& a) {
  return real_dtype(a.inputs[0].dtype) == DType::float32 ? codegen::fft_routine<float>(a)
                                                         : codegen::fft_routine<double>(a);
}

}  // namespace tessera::inline v0::ops
