#include "measure.h"

#include "ulps.h"

#include <bit>

namespace accuracy {

namespace ts = tessera;

namespace {

// Special operands of a type: zero and its neighbours, the first and last exponents, and the limits
// and branch points of functions.
template <class T>
std::vector<T> special_points() {
  using F = Format<T>;
  using Bits = typename F::Bits;
  auto make = [](Bits b) { return std::bit_cast<T>(b); };
  constexpr Bits one = Bits{1}, normal = Bits(one << (F::precision - 1));
  constexpr auto width = static_cast<int>(8 * sizeof(Bits));
  constexpr Bits sign = Bits(one << (width - 1)), infinity = Bits(sign - normal);
  std::vector<Bits> bits{
      0, 1, 2, Bits(normal - 1), normal, Bits(normal + 1), Bits(infinity - 1), infinity};
  for (double x : {0.25,      0.5,   0.6931, 0.75,  1.0,   1.4142, 1.5707963, 2.0,    2.5,  3.0,
                   3.1415926, 3.92,  4.0,    5.0,   5.9,   9.0,    10.0,      10.1,   11.0, 14.0,
                   17.0,      20.0,  26.6,   27.3,  38.0,  44.0,   64.0,      88.0,   89.0, 104.0,
                   126.0,     128.0, 150.0,  300.0, 700.0, 709.7,  745.2,     1023.0, 1e4,  65504.0,
                   1e5,       1e8,   1e10,   1e18,  1e30,  1e100,  1e200,     1e300})
    for (int k = -2; k <= 2; ++k) {
      T near;
      if constexpr (std::is_floating_point_v<T>)
        near = static_cast<T>(x);
      else
        near = T(static_cast<float>(x));
      Bits b = Bits(std::bit_cast<Bits>(near) + Bits(k));
      if (b <= infinity) bits.push_back(b);
    }
  std::vector<T> points{make(Bits(infinity | (normal >> 1)))};  // NaN
  for (Bits b : bits) {
    points.push_back(make(b));
    points.push_back(make(Bits(b | sign)));
  }
  return points;
}

// Weyl's sequence distributes the bits evenly. Every second float is moved to where its exponent is
// small.
template <class T>
T nth_point(std::uint64_t n) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  std::uint64_t w = n * 0x9e3779b97f4a7c15u;
  auto bits = static_cast<Bits>(w >> (64 - 8 * sizeof(Bits)));
  if (n % 2 == 0) return std::bit_cast<T>(bits);
  constexpr int shift = F::precision - 1;
  constexpr auto bias = static_cast<Bits>(F::most - 1);
  auto mantissa = static_cast<Bits>(bits & ((Bits{1} << shift) - 1));
  auto sign = static_cast<Bits>(bits & (Bits{1} << (8 * sizeof(Bits) - 1)));
  std::uint64_t mixed = (w ^ (w >> 29)) * 0xbf58476d1ce4e5b9u;
  auto exponent = static_cast<Bits>(bias - 12 + (mixed >> 40) % 22);
  return std::bit_cast<T>(static_cast<Bits>(sign | Bits(exponent << shift) | mantissa));
}

template <class T>
class Measurement {
 public:
  explicit Measurement(const Function& f)
      : f_(f), compiled_(ts::jit([&f](Array x, Array y) { return f.computed(x, y); })) {}

  void add(T x, T y = T{}) {
    x_.push_back(x);
    y_.push_back(y);
    if (x_.size() == kBatch) flush();
  }
  Worst finish() {
    flush();
    return worst_;
  }

 private:
  // Divides the number of 16-bit floats, so that few operands are computed that nobody asked for.
  static constexpr std::size_t kBatch = 1 << 12;

  void flush() {
    if (x_.empty()) return;
    const std::size_t n = x_.size();
    worst_.measured += static_cast<std::int64_t>(n);
    x_.resize(kBatch);  // one shape needs one compilation
    y_.resize(kBatch);
    const Array result = compiled_(Array(x_), Array(y_));
    const auto got = result.template host<T>();
    for (std::size_t i = 0; i < n; ++i) {
      const Wider<T> x = widened(x_[i]), y = widened(y_[i]);
      Wider<T> exact;
      if constexpr (std::is_same_v<T, double>)
        exact = f_.exact_of_doubles(x, y);
      else
        exact = f_.exact(x, y);
      const auto a = static_cast<double>(x), b = static_cast<double>(y);
      double least = f_.least ? f_.least(a, b) : 0;
      if (!(least > 0) || std::isinf(least)) least = 0;
      const double u = ulps_between<T>(got[i], exact, least);
      if (u > worst_.ulps)
        worst_ = {.ulps = u,
                  .x = static_cast<double>(x),
                  .y = static_cast<double>(y),
                  .got = static_cast<double>(widened(got[i])),
                  .exact = static_cast<double>(exact),
                  .measured = worst_.measured};
    }
    x_.clear();
    y_.clear();
  }

  const Function& f_;
  std::function<Array(Array, Array)> compiled_;
  std::vector<T> x_, y_;
  Worst worst_;
};

template <class T>
Worst measured(const Function& f, const Sample& sample) {
  using Bits = typename Format<T>::Bits;
  Measurement<T> m(f);
  const std::vector<T> special = special_points<T>();
  const std::uint64_t of = sample.share.of, first = sample.share.first;
  const auto points = static_cast<std::uint64_t>(sample.points);
  if (f.operands == 1) {
    if constexpr (sizeof(T) == 2) {
      if (of > 1)  // else they are among all numbers
        for (T x : special) m.add(x);
      for (std::uint64_t b = first; b < 65536; b += of)
        m.add(std::bit_cast<T>(static_cast<Bits>(b)));
      return m.finish();
    }
    for (T x : special) m.add(x);
    for (std::uint64_t n = first; n < points; n += of) m.add(nth_point<T>(n));
    if constexpr (std::is_same_v<T, float>)
      if (sample.every) {
        const auto every = static_cast<std::uint64_t>(sample.every);
        for (std::uint64_t b = first * every; b < std::uint64_t{1} << 32; b += of * every)
          m.add(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
      }
    return m.finish();
  }
  std::uint64_t pair = 0;
  for (T x : special)
    for (T y : special)
      if (sample.share.has(pair++)) m.add(x, y);
  for (std::uint64_t n = first; n < points; n += of) {
    T x = nth_point<T>(n), y = nth_point<T>(n * 0x2545f4914f6cdd1du + 12345);
    m.add(n % 16 == 3 ? special[n / 16 % special.size()] : x,
          n % 16 == 7 ? special[n / 16 % special.size()] : y);
  }
  return m.finish();
}

}  // namespace

Worst measure(const Function& f, DType dtype, const Sample& sample) {
  switch (dtype) {
    case DType::float64: return measured<double>(f, sample);
    case DType::float16: return measured<ts::float16_t>(f, sample);
    case DType::bfloat16: return measured<ts::bfloat16_t>(f, sample);
    default: return measured<float>(f, sample);
  }
}

}  // namespace accuracy
