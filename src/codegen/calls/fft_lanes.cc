// The passes of Stockham's transform (Cochran and others 1967). Each handles one factor of the
// length and copies the points, in order, from one buffer to the other. Compiled for several
// processors, with the same operations for each.
#include "codegen/calls/fft_lanes.h"

#include "codegen/calls/fft_squares.h"
#include "codegen/kernel/isa.h"
#include "ops/linalg/fft.h"

#include <algorithm>
#include <utility>

namespace tessera::inline v0::codegen {
namespace {

#define INLINE [[gnu::always_inline]] inline

constexpr std::int64_t kLargestFactor = 23;

// One pass. The operands of a sum are `groups * stride` points apart, and its results `stride`
// points.
template <class P>
struct Pass {
  std::int64_t radix, groups, stride;
  std::vector<std::complex<P>> turns;  // twiddle factors by group, for all but the first operand
  std::vector<std::complex<P>> roots;  // roots of unity, for a radix without a formula
};

// The lanes of a point that fit a register; compilers keep wider vectors in memory.
template <class P, int bytes>
struct Part {
  typedef P Vector __attribute__((vector_size(bytes), may_alias));
  static constexpr int kParts = 64 / bytes;
  Vector re, im;

  INLINE void load(const FftPoint<P>& from, int part) {
    re = reinterpret_cast<const Vector*>(&from.re)[part];
    im = reinterpret_cast<const Vector*>(&from.im)[part];
  }
  INLINE void store(FftPoint<P>& to, int part) const {
    reinterpret_cast<Vector*>(&to.re)[part] = re;
    reinterpret_cast<Vector*>(&to.im)[part] = im;
  }
};

template <class Q, class P>
INLINE void turn(Q& x, const std::complex<P>& by) {
  const auto re = x.re * by.real() - x.im * by.imag();
  x.im = x.re * by.imag() + x.im * by.real();
  x.re = re;
}
// These set `to` to a + b, a - b, a - i b and a + i b.
template <class Q>
INLINE void add(Q& to, const Q& a, const Q& b) {
  to.re = a.re + b.re;
  to.im = a.im + b.im;
}
template <class Q>
INLINE void subtract(Q& to, const Q& a, const Q& b) {
  to.re = a.re - b.re;
  to.im = a.im - b.im;
}
template <class Q>
INLINE void add_behind(Q& to, const Q& a, const Q& b) {
  const auto re = a.re + b.im;
  to.im = a.im - b.re;
  to.re = re;
}
template <class Q>
INLINE void add_ahead(Q& to, const Q& a, const Q& b) {
  const auto re = a.re - b.im;
  to.im = a.im + b.re;
  to.re = re;
}

// The transform of `radix` points, in place.
template <class P, int radix, class Q>
INLINE void sum_up(Q* a) {
  if constexpr (radix == 2) {
    const Q b = a[1];
    subtract(a[1], a[0], b);
    add(a[0], a[0], b);
  } else if constexpr (radix == 3) {
    constexpr P sine = P(0.866025403784438646763723170752936183L);
    Q sum, off;
    add(sum, a[1], a[2]);
    subtract(off, a[1], a[2]);
    off.re *= sine;
    off.im *= sine;
    Q middle{a[0].re - sum.re * P(0.5), a[0].im - sum.im * P(0.5)};
    add(a[0], a[0], sum);
    add_behind(a[1], middle, off);
    add_ahead(a[2], middle, off);
  } else if constexpr (radix == 4) {
    Q even, odd, even_off, odd_off;
    add(even, a[0], a[2]);
    subtract(even_off, a[0], a[2]);
    add(odd, a[1], a[3]);
    subtract(odd_off, a[1], a[3]);
    add(a[0], even, odd);
    add_behind(a[1], even_off, odd_off);
    subtract(a[2], even, odd);
    add_ahead(a[3], even_off, odd_off);
  } else {
    static_assert(radix == 5);
    constexpr P c1 = P(0.309016994374947424102293417182819059L),
                c2 = P(-0.809016994374947424102293417182819059L),
                s1 = P(0.951056516295153572116439333379382143L),
                s2 = P(0.587785252292473129168705954639072769L);
    Q outer, inner, outer_off, inner_off;
    add(outer, a[1], a[4]);
    subtract(outer_off, a[1], a[4]);
    add(inner, a[2], a[3]);
    subtract(inner_off, a[2], a[3]);
    const Q first{a[0].re + outer.re * c1 + inner.re * c2, a[0].im + outer.im * c1 + inner.im * c2},
        second{a[0].re + outer.re * c2 + inner.re * c1, a[0].im + outer.im * c2 + inner.im * c1},
        first_off{outer_off.re * s1 + inner_off.re * s2, outer_off.im * s1 + inner_off.im * s2},
        second_off{outer_off.re * s2 - inner_off.re * s1, outer_off.im * s2 - inner_off.im * s1};
    add(a[0], a[0], outer);
    add(a[0], a[0], inner);
    add_behind(a[1], first, first_off);
    add_behind(a[2], second, second_off);
    add_ahead(a[3], second, second_off);
    add_ahead(a[4], first, first_off);
  }
}

template <int bytes, int radix, class P>
INLINE void run_pass(const Pass<P>& p, const FftPoint<P>* x, FftPoint<P>* y) {
  const std::complex<P>* turns = p.turns.data();
  for (std::int64_t g = 0; g < p.groups; ++g, turns += radix - 1)
    for (std::int64_t q = 0; q < p.stride; ++q)
      for (int part = 0; part < Part<P, bytes>::kParts; ++part) {
        Part<P, bytes> a[radix];
        for (int k = 0; k < radix; ++k) a[k].load(x[q + p.stride * (g + p.groups * k)], part);
        sum_up<P, radix>(a);
        FftPoint<P>* const to = y + q + p.stride * radix * g;
        a[0].store(to[0], part);
        for (int k = 1; k < radix; ++k) {
          if (g) turn(a[k], turns[k - 1]);
          a[k].store(to[p.stride * k], part);
        }
      }
}

// A pass for another prime, computed term by term.
template <int bytes, class P>
INLINE void run_any_pass(const Pass<P>& p, const FftPoint<P>* x, FftPoint<P>* y) {
  const std::complex<P>* turns = p.turns.data();
  for (std::int64_t g = 0; g < p.groups; ++g, turns += p.radix - 1)
    for (std::int64_t q = 0; q < p.stride; ++q)
      for (std::int64_t k = 0; k < p.radix; ++k)
        for (int part = 0; part < Part<P, bytes>::kParts; ++part) {
          Part<P, bytes> sum, term;
          sum.load(x[q + p.stride * g], part);
          for (std::int64_t j = 1; j < p.radix; ++j) {
            term.load(x[q + p.stride * (g + p.groups * j)], part);
            turn(term, p.roots[static_cast<std::size_t>(j * k % p.radix)]);
            add(sum, sum, term);
          }
          if (g && k) turn(sum, turns[k - 1]);
          sum.store(y[q + p.stride * (p.radix * g + k)], part);
        }
}

template <class P>
using Passes = std::vector<Pass<P>>;

template <int bytes, class P>
INLINE FftPoint<P>* run_all(const Passes<P>& passes, FftPoint<P>* x, FftPoint<P>* y) {
  for (const Pass<P>& p : passes) {
    switch (p.radix) {
      case 2: run_pass<bytes, 2>(p, x, y); break;
      case 3: run_pass<bytes, 3>(p, x, y); break;
      case 4: run_pass<bytes, 4>(p, x, y); break;
      case 5: run_pass<bytes, 5>(p, x, y); break;
      default: run_any_pass<bytes>(p, x, y);
    }
    std::swap(x, y);
  }
  return x;
}

template <int bytes, class P>
INLINE void unpair_all(FftPoint<P>* z, std::int64_t n, const std::complex<P>* roots) {
  using Q = Part<P, bytes>;
  const auto result = [roots](const Q& a, const Q& b, std::int64_t k)
      __attribute__((always_inline)) {
    Q x;
    const P half = P(0.5);
    Q odd;
    odd.re = (a.im + b.im) * half;
    odd.im = (b.re - a.re) * half;
    turn(odd, roots[k]);
    x.re = (a.re + b.re) * half + odd.re;
    x.im = (a.im - b.im) * half + odd.im;
    return x;
  };
  z[n] = z[0];
  for (std::int64_t k = 0; k <= n - k; ++k)
    for (int part = 0; part < Q::kParts; ++part) {
      Q a, b;
      a.load(z[k], part);
      b.load(z[n - k], part);
      result(a, b, k).store(z[k], part);
      result(b, a, n - k).store(z[n - k], part);
    }
}

#undef INLINE

#if defined(__x86_64__)
#define FOR_PROCESSOR_AND_TYPE(name, P, bytes, features)                                       \
  [[gnu::target(features)]] void name(const P* const* lines, std::int64_t n, FftPoint<P>* x) { \
    all_to_points<bytes>(lines, n, x);                                                         \
  }                                                                                            \
  [[gnu::target(features)]] void name(const FftPoint<P>* x, std::int64_t n, P* const* lines) { \
    all_to_lines<bytes>(x, n, lines);                                                          \
  }                                                                                            \
  [[gnu::target(features)]] void name(FftPoint<P>* z, std::int64_t n,                          \
                                      const std::complex<P>* roots) {                          \
    unpair_all<bytes>(z, n, roots);                                                            \
  }
FOR_PROCESSOR_AND_TYPE(around_avx512, float, 64, "avx512f,avx512vl,avx512dq")
FOR_PROCESSOR_AND_TYPE(around_avx512, double, 64, "avx512f,avx512vl,avx512dq")
FOR_PROCESSOR_AND_TYPE(around_avx2, float, 32, "avx2")
FOR_PROCESSOR_AND_TYPE(around_avx2, double, 32, "avx2")
#undef FOR_PROCESSOR_AND_TYPE
#define FOR_PROCESSOR(name, bytes, features)                                                     \
  [[gnu::target(features)]] FftPoint<float>* name(const Passes<float>& p, FftPoint<float>* x,    \
                                                  FftPoint<float>* y) {                          \
    return run_all<bytes>(p, x, y);                                                              \
  }                                                                                              \
  [[gnu::target(features)]] FftPoint<double>* name(const Passes<double>& p, FftPoint<double>* x, \
                                                   FftPoint<double>* y) {                        \
    return run_all<bytes>(p, x, y);                                                              \
  }
FOR_PROCESSOR(run_avx512, 64, "avx512f,avx512vl,avx512dq")
FOR_PROCESSOR(run_avx2, 32, "avx2")
#undef FOR_PROCESSOR
#endif

template <class P>
FftPoint<P>* run_here(const Passes<P>& passes, FftPoint<P>* x, FftPoint<P>* y) {
#if defined(__x86_64__)
  if (host_isa().avx512) return run_avx512(passes, x, y);
  if (host_isa().avx2) return run_avx2(passes, x, y);
#endif
  return run_all<16>(passes, x, y);
}

template <class P>
class Smooth : public FftLanes<P> {
 public:
  using typename FftLanes<P>::Point;
  explicit Smooth(std::int64_t n) : FftLanes<P>(n) {
    std::int64_t length = n, stride = 1;
    for (std::int64_t radix : {4, 2, 3, 5, 7, 11, 13, 17, 19, 23})
      for (; length % radix == 0; length /= radix, stride *= radix) {
        Pass<P> pass{radix, length / radix, stride, {}, {}};
        for (std::int64_t g = 0; g < pass.groups; ++g)
          for (std::int64_t k = 1; k < radix; ++k)
            pass.turns.push_back(root(g * k % length, length));
        if (radix > 5)
          for (std::int64_t k = 0; k < radix; ++k) pass.roots.push_back(root(k, radix));
        passes_.push_back(std::move(pass));
      }
  }
  Point* run(Point* x, Point* work) const override { return run_here(passes_, x, work); }

 private:
  static std::complex<P> root(std::int64_t k, std::int64_t n) {
    const std::complex<double> w = ops::unit_root(k, n);
    return {static_cast<P>(w.real()), static_cast<P>(-w.imag())};
  }
  Passes<P> passes_;
};

template <class P>
class Convolved : public FftLanes<P> {
 public:
  using typename FftLanes<P>::Point;
  explicit Convolved(std::int64_t n) : FftLanes<P>(n), inner_(fft_length_for(2 * n - 1)) {
    const std::int64_t m = inner_.points();
    std::vector<Point> kernel(static_cast<std::size_t>(m)), work(kernel.size());
    for (std::int64_t j = 0; const std::complex<double> c : fft_chirp(n)) {
      chirp_.emplace_back(static_cast<P>(c.real()), static_cast<P>(c.imag()));
      for (const std::int64_t at : {j, (m - j) % m}) {
        kernel[static_cast<std::size_t>(at)].re[0] = static_cast<P>(c.real());
        kernel[static_cast<std::size_t>(at)].im[0] = static_cast<P>(-c.imag());
      }
      ++j;
    }
    const Point* done = inner_.run(kernel.data(), work.data());
    const P each = P(1) / static_cast<P>(m);
    for (std::int64_t k = 0; k < m; ++k)
      kernel_.emplace_back(done[k].re[0] * each, done[k].im[0] * each);
  }
  std::int64_t work_points() const override { return 2 * inner_.points(); }
  Point* run(Point* x, Point* work) const override {
    const std::int64_t n = this->points_, m = inner_.points();
    for (std::int64_t j = 0; j < m; ++j)
      work[j] = j < n ? turned(x[j], chirp_[static_cast<std::size_t>(j)]) : Point{};
    Point* const there = inner_.run(work, work + m);
    for (std::int64_t k = 0; k < m; ++k)
      there[k] = exchanged(turned(there[k], kernel_[static_cast<std::size_t>(k)]));
    const Point* back = inner_.run(there, there == work ? work + m : work);
    for (std::int64_t k = 0; k < n; ++k)
      x[k] = turned(exchanged(back[k]), chirp_[static_cast<std::size_t>(k)]);
    return x;
  }

 private:
  static Point turned(const Point& x, const std::complex<P>& by) {
    return {x.re * by.real() - x.im * by.imag(), x.re * by.imag() + x.im * by.real()};
  }
  static Point exchanged(const Point& x) { return {x.im, x.re}; }
  const Smooth<P> inner_;
  std::vector<std::complex<P>> chirp_, kernel_;
};

}  // namespace

bool is_fft_smooth(std::int64_t n) {
  for (std::int64_t p = 2; p <= kLargestFactor; ++p)
    while (n % p == 0) n /= p;
  return n == 1;
}

std::int64_t fft_length_for(std::int64_t n) {
  const auto quick = [](std::int64_t m) {
    for (std::int64_t p : {2, 3, 5})
      while (m % p == 0) m /= p;
    return m == 1;
  };
  while (!quick(n)) ++n;
  return n;
}

std::vector<std::complex<double>> fft_chirp(std::int64_t n) {
  std::vector<std::complex<double>> chirp;
  for (std::int64_t j = 0, square = 0; j < n; ++j) {
    chirp.push_back(std::conj(ops::unit_root(square, 2 * n)));
    square = (square + 2 * j + 1) % (2 * n);  // (j + 1)^2
  }
  return chirp;
}

template <class P>
std::unique_ptr<const FftLanes<P>> FftLanes<P>::make(std::int64_t n) {
  if (is_fft_smooth(n)) return std::make_unique<Smooth<P>>(n);
  return std::make_unique<Convolved<P>>(n);
}

namespace {

// Calls the form of a function around transforms that is compiled for this processor.
template <class P, class From, class To, class Plain>
void around_here(From from, std::int64_t n, To to, Plain plain) {
#if defined(__x86_64__)
  if (host_isa().avx512) return around_avx512(from, n, to);
  if (host_isa().avx2) return around_avx2(from, n, to);
#endif
  plain(from, n, to);
}

}  // namespace

template <class P>
void lines_to_points(const P* const* lines, std::int64_t numbers, FftPoint<P>* points) {
  around_here<P>(lines, numbers, points, [](const P* const* from, std::int64_t n, FftPoint<P>* to) {
    all_to_points<16>(from, n, to);
  });
}
template <class P>
void points_to_lines(const FftPoint<P>* points, std::int64_t numbers, P* const* lines) {
  around_here<P>(points, numbers, lines, [](const FftPoint<P>* from, std::int64_t n, P* const* to) {
    all_to_lines<16>(from, n, to);
  });
}
template <class P>
void unpair_points(FftPoint<P>* z, std::int64_t n, const std::complex<P>* roots) {
  around_here<P>(z, n, roots, [](FftPoint<P>* all, std::int64_t count, const std::complex<P>* by) {
    unpair_all<16>(all, count, by);
  });
}
template void lines_to_points(const float* const*, std::int64_t, FftPoint<float>*);
template void lines_to_points(const double* const*, std::int64_t, FftPoint<double>*);
template void points_to_lines(const FftPoint<float>*, std::int64_t, float* const*);
template void points_to_lines(const FftPoint<double>*, std::int64_t, double* const*);
template void unpair_points(FftPoint<float>*, std::int64_t, const std::complex<float>*);
template void unpair_points(FftPoint<double>*, std::int64_t, const std::complex<double>*);

template class FftLanes<float>;
template class FftLanes<double>;

}  // namespace tessera::inline v0::codegen
