// Discrete Fourier transforms of the last dimensions, complex and real.
#include "ops/linalg/fft.h"

#include "ops/linalg/matrices.h"
#include "ops/movement/movement.h"

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace tessera::inline v0::ops {

std::optional<FftKind> fft_kind(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"FFT", "IFFT", "RFFT", "IRFFT"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<FftKind>(i);
  return std::nullopt;
}

Value fft(Value x, const std::string& kind, const Ints& length) {
  return x.builder->emit1("fft", {x}, {{"kind", kind}, {"length", length}});
}

// Uses the angle from the nearest multiple of a quarter turn, which is at most an eighth of a turn.
std::complex<double> unit_root(std::int64_t k, std::int64_t n) {
  const std::int64_t octant = 8 * k / n, beyond = 8 * k % n;
  const double a = std::numbers::pi / 4 * static_cast<double>(octant % 2 ? n - beyond : beyond) /
                   static_cast<double>(n);
  const double c = std::cos(a), s = std::sin(a);
  switch (octant) {
    case 0: return {c, s};
    case 1: return {s, c};
    case 2: return {-s, c};
    case 3: return {-c, s};
    case 4: return {-c, -s};
    case 5: return {-s, -c};
    case 6: return {s, -c};
    default: return {c, -s};
  }
}

namespace {

constexpr std::size_t kMostFftDims = 3;
constexpr std::int64_t kMostPoints = std::numeric_limits<std::int32_t>::max();

FftKind kind_of(const Attrs& attrs) { return *fft_kind(attrs.str("kind")); }

std::int64_t points_of(const Ints& length) {
  std::int64_t n = 1;
  for (std::int64_t l : length) n *= l;
  return n;
}

void check_fft(const InferArgs& a) {
  const Type& x = a.inputs[0];
  const std::string& name = a.attrs.str("kind");
  const Ints& length = a.attrs.ints("length");
  const auto fail = [&] { return std::move(Message(a.op.name).from(a.loc)); };
  const std::optional<FftKind> kind = fft_kind(name);
  if (!kind)
    fail()
        .problem("the kind \"" + name + "\"")
        .rule("the kinds are FFT, IFFT, RFFT and IRFFT")
        .advice("name one of them")
        .raise<Error>();
  const bool real = *kind == FftKind::rfft;
  if (real ? !is_floating(x.dtype) || size_of(x.dtype) < 4 : !is_complex(x.dtype))
    fail()
        .problem("the operand of " + name + " is " + tessera::to_string(x))
        .rule(real ? "it is float32 or float64" : "it is complex64 or complex128")
        .advice("convert it with astype")
        .raise<DTypeError>();
  const auto rank = static_cast<std::size_t>(x.shape.rank());
  if (length.empty() || length.size() > kMostFftDims || length.size() > rank)
    fail()
        .problem(std::to_string(length.size()) + " lengths for the operand " +
                 tessera::to_string(x))
        .rule("1 to 3 of the last axes are transformed")
        .advice("transform further axes in a second step")
        .raise<ShapeError>();
  for (std::size_t i = 0; i < length.size(); ++i) {
    const bool half = *kind == FftKind::irfft && i + 1 == length.size();
    const std::int64_t want = half ? length[i] / 2 + 1 : length[i];
    const std::size_t d = rank - length.size() + i;
    if (length[i] < 1)
      fail()
          .problem("axis " + std::to_string(d) + " is transformed to " + std::to_string(length[i]) +
                   " points")
          .rule("a transform has at least 1 point")
          .advice("check the size first")
          .raise<ShapeError>();
    if (length[i] > kMostPoints)
      fail()
          .problem("axis " + std::to_string(d) + " is transformed to " + std::to_string(length[i]) +
                   " points")
          .rule("a transform has at most 2^31 - 1 points")
          .advice("transform shorter stretches")
          .raise<ShapeError>();
    if (x.shape[d] != want)
      fail()
          .problem("axis " + std::to_string(d) + " of the operand " + tessera::to_string(x) +
                   " has " + std::to_string(x.shape[d]) + " elements")
          .rule(name + " to " + std::to_string(length[i]) + " points takes " +
                std::to_string(want) + (half ? ", half of them and one" : ""))
          .advice("cut the axis or fill it up")
          .raise<ShapeError>();
  }
}

std::vector<Type> fft_infer(const InferArgs& a) {
  check_fft(a);
  const Type& x = a.inputs[0];
  Shape shape = x.shape;
  const std::int64_t last = a.attrs.ints("length").back();
  switch (kind_of(a.attrs)) {
    case FftKind::fft:
    case FftKind::ifft: return {Type(x.dtype, shape)};
    case FftKind::rfft:
      shape[shape.size() - 1] = last / 2 + 1;
      return {Type(complex_dtype(x.dtype), shape)};
    case FftKind::irfft: shape[shape.size() - 1] = last; return {Type(real_dtype(x.dtype), shape)};
  }
  return {};
}

// The matrix of a complex transform is symmetric. RFFT takes the first half of the transform of
// real numbers. IRFFT counts all points twice except the first and the middle one; its result is
// the real part of a product, hence the conjugate.
MaybeValues fft_transpose(const TransposeArgs& a) {
  if (!a.cotangents[0]) return {std::nullopt};
  const Value ct = *a.cotangents[0];
  const Ints& length = a.attrs.ints("length");
  const Shape& in = a.types[0].shape;
  const int last = in.rank() - 1;
  switch (kind_of(a.attrs)) {
    case FftKind::fft:
    case FftKind::ifft: return {fft(ct, a.attrs.str("kind"), length)};
    case FftKind::rfft: {
      Ints none(in.size(), 0), high(in.size(), 0);
      high.back() = length.back() - ct.shape()[static_cast<std::size_t>(last)];
      const Value whole = pad(ct, scalar(a.b, ct.dtype(), 0), none, high, none);
      return {real(fft(whole, "FFT", length))};
    }
    case FftKind::irfft: {
      const Value x = fft(ct, "RFFT", length);
      const DType part = real_dtype(x.dtype());
      const std::int64_t n = length.back();
      const Value k = iota(a.b, DType::int64, in, last);
      Value once = eq(k, zeros_like(k));
      if (n % 2 == 0) once = or_(once, eq(k, full_like(k, 0.5 * static_cast<double>(n))));
      const double each = 1.0 / static_cast<double>(points_of(length));
      const Value weight = select(once, full(a.b, part, in, each), full(a.b, part, in, 2 * each));
      return {mul(conj(x), convert(weight, x.dtype()))};
    }
  }
  return {std::nullopt};
}

FactorRule fft_sharding(const ShardArgs& a) {
  const int n = static_cast<int>(a.attrs.ints("length").size());
  return cut_before({n}, {n})(a);
}

// --- the evaluator: naive sums, line by line

using ComplexDouble = std::complex<double>;

// Transforms the lines of `x`, (outer, n, inner), each by naive sums.
void transform_axis(std::vector<ComplexDouble>& x, std::int64_t n, std::int64_t inner,
                    bool inverse) {
  std::vector<ComplexDouble> w;
  for (std::int64_t k = 0; k < n; ++k)
    w.push_back(inverse ? unit_root(k, n) : std::conj(unit_root(k, n)));
  std::vector<ComplexDouble> line(static_cast<std::size_t>(n));
  for (std::size_t at = 0; at < x.size(); ++at) {
    const auto i = static_cast<std::int64_t>(at);
    if (i / inner % n != 0) continue;
    for (std::int64_t j = 0; j < n; ++j)
      line[static_cast<std::size_t>(j)] = x[at + static_cast<std::size_t>(j * inner)];
    for (std::int64_t k = 0; k < n; ++k) {
      ComplexDouble sum = 0;
      for (std::int64_t j = 0; j < n; ++j)
        sum += line[static_cast<std::size_t>(j)] * w[static_cast<std::size_t>(j * k % n)];
      x[at + static_cast<std::size_t>(k * inner)] = inverse ? sum / static_cast<double>(n) : sum;
    }
  }
}

// Completes the last dimension, of which the operand has only the first half.
std::vector<ComplexDouble> completed(const std::vector<ComplexDouble>& half, std::int64_t n) {
  const std::int64_t m = n / 2 + 1;
  std::vector<ComplexDouble> all;
  for (std::size_t row = 0; row + static_cast<std::size_t>(m) <= half.size();
       row += static_cast<std::size_t>(m))
    for (std::int64_t k = 0; k < n; ++k) {
      const ComplexDouble x = half[row + static_cast<std::size_t>(k < m ? k : n - k)];
      const bool own = k == 0 || 2 * k == n;
      all.emplace_back(x.real(), own ? 0 : k < m ? x.imag() : -x.imag());
    }
  return all;
}

std::vector<ComplexDouble> wide(const HostArray& x) {
  std::vector<ComplexDouble> v;
  dispatch(x.dtype, [&]<class T>(T) {
    if constexpr (is_complex_v<T> || std::is_floating_point_v<T>)
      for (std::int64_t i = 0; i < x.count(); ++i) {
        const std::complex<double> z = x.data<T>()[i];
        v.emplace_back(z.real(), z.imag());
      }
  });
  return v;
}

void fft_evaluate(const EvalArgs& a) {
  const Ints& length = a.attrs.ints("length");
  const FftKind kind = kind_of(a.attrs);
  const bool inverse = kind == FftKind::ifft || kind == FftKind::irfft;
  std::vector<ComplexDouble> x = wide(a.inputs[0]);
  const std::int64_t n = length.back(), kept = n / 2 + 1;
  std::int64_t inner = kind == FftKind::irfft ? kept : n;
  for (std::size_t i = length.size() - 1; i-- > 0;) {
    transform_axis(x, length[i], inner, inverse);
    inner *= length[i];
  }
  if (kind == FftKind::irfft) x = completed(x, n);
  transform_axis(x, n, 1, inverse);
  HostArray& out = a.outputs[0];
  dispatch(out.dtype, [&]<class T>(T) {
    for (std::int64_t i = 0; i < out.count(); ++i) {
      if constexpr (is_complex_v<T>) {
        using P = typename T::value_type;
        const auto from = kind == FftKind::rfft ? i / kept * n + i % kept : i;
        const ComplexDouble& z = x[static_cast<std::size_t>(from)];
        out.data<T>()[i] = {static_cast<P>(z.real()), static_cast<P>(z.imag())};
      } else if constexpr (std::is_floating_point_v<T>) {
        out.data<T>()[i] = static_cast<T>(x[static_cast<std::size_t>(i)].real());
      }
    }
  });
}

std::vector<OpExample> fft_examples() {
  const auto example = [](DType dtype, Shape shape, const char* kind, Ints length) {
    return OpExample{{Type(dtype, std::move(shape))},
                     {{"kind", std::string(kind)}, {"length", std::move(length)}}};
  };
  return {example(DType::complex64, {3, 4}, "FFT", {4}),
          example(DType::complex128, {2, 3, 5}, "IFFT", {3, 5}),
          example(DType::float32, {2, 6}, "RFFT", {6}),
          example(DType::float64, {2, 3, 7}, "RFFT", {3, 7}),
          example(DType::complex64, {2, 4}, "IRFFT", {6}),
          example(DType::complex128, {2, 3, 4}, "IRFFT", {2, 3, 7}),
          example(DType::float32, {2, 1}, "RFFT", {1}),
          example(DType::complex64, {1}, "IRFFT", {1})};
}

}  // namespace

void register_fft(Registry& r) {
  Op op;
  op.name = "fft";
  op.doc =
      "The discrete Fourier transform of the last dimensions. FFT sums x(j) exp(-2 pi i j k / n); "
      "IFFT is its inverse. RFFT takes real numbers and gives the n / 2 + 1 first points of the "
      "last dimension, of which the others are conjugates; IRFFT is its inverse, and reads no "
      "imaginary part of the first point, nor of the middle one of an even n.";
  op.stablehlo = "fft";
  op.attrs = {{"kind", AttrKind::string, "FFT, IFFT, RFFT or IRFFT"},
              {"length", AttrKind::ints, "points of the last 1 to 3 dimensions"}};
  op.inputs = 1;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = fft_call;
  op.infer = fft_infer;
  op.jvp = linear_jvp();
  op.transpose = fft_transpose;
  op.batch = batch_before;
  op.sharding = fft_sharding;
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
    const auto all = static_cast<double>(std::max(in[0].shape.count(), out[0].shape.count()));
    const auto n = static_cast<double>(points_of(attrs.ints("length")));
    return Cost{5 * all * std::log2(n + 1), static_cast<double>(in[0].bytes() + out[0].bytes())};
  };
  op.evaluate = fft_evaluate;
  op.waived = {{"updates", "a transform of a state is another value"},
               {"emit", "lines are transformed by a routine"}};
  op.examples = fft_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
