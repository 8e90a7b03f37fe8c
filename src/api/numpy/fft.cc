// Discrete Fourier transforms: axes are moved to the end, truncated or zero-padded, and
// transformed.
#include <tessera/creation.h>
#include <tessera/fft.h>
#include <tessera/manipulation.h>

#include "api/trace/composite.h"
#include "ops/linalg/fft.h"

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::fft {

namespace {

/// The kind of transform that a function computes, along one or more axes.
struct Transform {
  const char* function;
  const char* kind;  // of the op
  bool backward() const { return kind[0] == 'I'; }
  bool real_in() const { return kind[0] == 'R'; }
  bool real_out() const { return kind == std::string_view("IRFFT"); }
};

double factor(const Transform& t, const std::string& norm, double points, const SourceLoc& loc) {
  if (norm == "ortho") return t.backward() ? std::sqrt(points) : 1 / std::sqrt(points);
  if (norm == "backward") return 1;
  if (norm == "forward") return t.backward() ? points : 1 / points;
  Message(t.function)
      .problem("the norm \"" + norm + "\"")
      .rule("the norms are \"backward\", \"ortho\" and \"forward\"")
      .from(loc)
      .advice("leave it out for \"backward\", which divides the inverse by the number of points")
      .raise<Error>();
}

// The operand in a dtype that the op supports.
Value operand(const Transform& t, Value x, const SourceLoc& loc) {
  x = detail::to_inexact(x);
  if (t.real_in() && is_complex(x.dtype()))
    Message(t.function)
        .problem("the operand " + to_string(x.type()) + " is complex")
        .rule("it transforms real numbers")
        .from(loc)
        .advice("use the function without the r, or take real(x)")
        .raise<DTypeError>();
  if (size_of(real_dtype(x.dtype())) < 4) x = ops::convert(x, DType::float32);
  return t.real_in() ? x : ops::convert(x, complex_dtype(x.dtype()));
}

Value resized(Value x, std::size_t axis, std::int64_t n) {
  Shape shape = x.shape();
  const auto rank = shape.size();
  Ints none(rank, 0), limit = shape.to_vector(), high(rank, 0);
  const std::int64_t have = shape[axis];
  if (n == have) return x;
  limit[axis] = n;
  if (n < have) return ops::slice(x, none, limit, Ints(rank, 1));
  high[axis] = n - have;
  return ops::pad(x, ops::scalar(*x.builder, x.dtype(), 0), none, high, none);
}

Ints counted_axes(std::size_t n) {
  Ints v;
  for (std::size_t i = 0; i < n; ++i) v.push_back(static_cast<std::int64_t>(i));
  return v;
}

// Transforms the last axes, one per length, at most three per op. If the input is real, the first
// transform is real and the others are complex; if the output is real, only the last one is real.
Value of_last(const Transform& t, Value x, const Ints& lengths) {
  constexpr std::size_t kMost = 3;
  if (lengths.size() <= kMost) return ops::fft(x, t.kind, lengths);
  const auto halved = [&] { return ops::fft(x, t.kind, {lengths.back()}); };
  if (t.real_in()) x = halved();
  const std::size_t rank = x.shape().size(), first = rank - lengths.size(),
                    end = rank - (t.real_in() || t.real_out() ? 1 : 0);
  for (std::size_t d = first; d < end; ++d) {
    Ints order = counted_axes(rank);
    std::swap(order[d], order.back());
    const Value y = ops::transpose(x, order);
    x = ops::transpose(ops::fft(y, t.backward() ? "IFFT" : "FFT", {lengths[d - first]}), order);
  }
  return t.real_out() ? halved() : x;
}

// The named axes in the given order; if none are named, the last `count` axes.
Ints axes_of(const Transform& t, std::span<const std::int64_t> named, std::size_t count, int rank,
             const SourceLoc& loc) {
  Ints axes;
  for (std::int64_t a : named) {
    const std::int64_t axis = normalize_axis(a, rank, t.function, loc);
    if (std::count(axes.begin(), axes.end(), axis))
      Message(t.function)
          .problem("axis " + std::to_string(axis) + " is named twice")
          .rule("each axis is transformed once")
          .from(loc)
          .advice("name different axes")
          .raise<ShapeError>();
    axes.push_back(axis);
  }
  if (named.empty())
    for (std::int64_t i = -static_cast<std::int64_t>(count); i < 0; ++i)
      axes.push_back(normalize_axis(i, rank, t.function, loc));
  return axes;
}

std::int64_t points(const Transform& t, const Shape& shape, std::int64_t axis, bool last,
                    const std::int64_t* asked, const SourceLoc& loc) {
  const std::int64_t have = shape[static_cast<std::size_t>(axis)], n = asked ? *asked
                                                                       : t.real_out() && last
                                                                           ? 2 * (have - 1)
                                                                           : have;
  if (n < 1)
    Message(t.function)
        .problem("axis " + std::to_string(axis) + " of shape " + to_string(shape) +
                 " is transformed to " + std::to_string(n) + " points")
        .rule("a transform has at least 1 point" +
              std::string(t.real_out() && !asked ? "; without n there are 2 (m - 1) of m" : ""))
        .from(loc)
        .advice("say how many points the result has")
        .raise<ShapeError>();
  return n;
}

Array transform(const Transform& t, const Operand& x, const Ints& lengths,
                std::span<const std::int64_t> named, std::optional<std::size_t> count,
                const std::string& norm) {
  return detail::composite1(t.function, {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = operand(t, in[0], x.loc);
    const auto rank = static_cast<std::size_t>(v.rank());
    const Ints axes =
        axes_of(t, named, count.value_or(lengths.empty() ? rank : lengths.size()), v.rank(), x.loc);
    if (!lengths.empty() && lengths.size() != axes.size())
      Message(t.function)
          .problem(std::to_string(lengths.size()) + (lengths.size() == 1 ? " length" : " lengths") +
                   " for " + std::to_string(axes.size()) + (axes.size() == 1 ? " axis" : " axes"))
          .rule("s has one length an axis")
          .from(x.loc)
          .advice("leave s out to transform all points")
          .raise<ShapeError>();
    if (axes.empty()) return v;
    Ints wanted, order = counted_axes(rank);
    double all = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const bool last = i + 1 == axes.size();
      const auto axis = static_cast<std::size_t>(axes[i]);
      const std::int64_t n =
          points(t, v.shape(), axes[i], last, lengths.empty() ? nullptr : &lengths[i], x.loc);
      wanted.push_back(n);
      all *= static_cast<double>(n);
      v = resized(v, axis, t.real_out() && last ? n / 2 + 1 : n);
      std::erase(order, axes[i]);
    }
    order.insert(order.end(), axes.begin(), axes.end());
    Value y = of_last(t, ops::transpose(v, order), wanted);
    Ints back(rank);
    for (std::size_t i = 0; i < rank; ++i)
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    y = ops::transpose(y, back);
    const double f = factor(t, norm, all, x.loc);
    return f == 1 ? y : ops::mul(y, ops::full_like(y, f));
  });
}

Array along_one(const Transform& t, const Operand& x, const FftOptions& o) {
  const std::int64_t axis = o.axis;
  return transform(t, x, o.n ? Ints{*o.n} : Ints{}, {&axis, 1}, {}, o.norm);
}
Array along_several(const Transform& t, const Operand& x, const FftnOptions& o,
                    std::optional<std::size_t> count = {}) {
  return transform(t, x, Ints(o.s.begin(), o.s.end()), o.axes.get(), count, o.norm);
}

std::string other_way(const std::string& norm) {
  return norm == "backward" ? "forward" : norm == "forward" ? "backward" : norm;
}

Array conjugate(const char* function, const Operand& x) {
  return detail::composite1(function, {x.array}, x.loc, [](Builder&, std::span<const Value> in) {
    return is_complex(in[0].dtype()) ? ops::conj(in[0]) : in[0];
  });
}

}  // namespace

Array fft(Operand x, const FftOptions& o) { return along_one({"fft.fft", "FFT"}, x, o); }
Array ifft(Operand x, const FftOptions& o) { return along_one({"fft.ifft", "IFFT"}, x, o); }
Array rfft(Operand x, const FftOptions& o) { return along_one({"fft.rfft", "RFFT"}, x, o); }
Array irfft(Operand x, const FftOptions& o) { return along_one({"fft.irfft", "IRFFT"}, x, o); }

Array hfft(Operand x, const FftOptions& o) {
  FftOptions turned = o;
  turned.norm = other_way(o.norm);
  return along_one({"fft.hfft", "IRFFT"}, {conjugate("fft.hfft", x), x.loc}, turned);
}
Array ihfft(Operand x, const FftOptions& o) {
  FftOptions turned = o;
  turned.norm = other_way(o.norm);
  return conjugate("fft.ihfft", {along_one({"fft.ihfft", "RFFT"}, x, turned), x.loc});
}

Array fft2(Operand x, const FftnOptions& o) { return along_several({"fft.fft2", "FFT"}, x, o, 2); }
Array ifft2(Operand x, const FftnOptions& o) {
  return along_several({"fft.ifft2", "IFFT"}, x, o, 2);
}
Array rfft2(Operand x, const FftnOptions& o) {
  return along_several({"fft.rfft2", "RFFT"}, x, o, 2);
}
Array irfft2(Operand x, const FftnOptions& o) {
  return along_several({"fft.irfft2", "IRFFT"}, x, o, 2);
}

Array fftn(Operand x, const FftnOptions& o) { return along_several({"fft.fftn", "FFT"}, x, o); }
Array ifftn(Operand x, const FftnOptions& o) { return along_several({"fft.ifftn", "IFFT"}, x, o); }
Array rfftn(Operand x, const FftnOptions& o) { return along_several({"fft.rfftn", "RFFT"}, x, o); }
Array irfftn(Operand x, const FftnOptions& o) {
  return along_several({"fft.irfftn", "IRFFT"}, x, o);
}

namespace {

// k / (n d) for the first `count` of n points; k is negative from index `turn` on.
Array frequencies(const char* function, std::int64_t n, double d, DType dtype, bool half,
                  const std::source_location& loc) {
  if (n < 1)
    Message(function)
        .problem("n is " + std::to_string(n))
        .rule("a transform has at least 1 point")
        .from(loc)
        .advice("pass the number of points")
        .raise<ShapeError>();
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  if (n > kMost)
    Message(function)
        .problem("n is " + std::to_string(n))
        .rule("a transform has at most 2^28 points")
        .from(loc)
        .advice("pass the number of points")
        .raise<ShapeError>();
  std::vector<double> f;
  for (std::int64_t k = 0; k < (half ? n / 2 + 1 : n); ++k)
    f.push_back(static_cast<double>(half || k < (n + 1) / 2 ? k : k - n) /
                (static_cast<double>(n) * d));
  return Array(f).astype(dtype, loc);
}

Array shifted(const char* function, const Operand& x, const AxisList& named, bool back) {
  const InFunction called(function, x.loc);
  Array y = x.array;
  for (std::int64_t a : detail::normalize_axes(named.get(), y.ndim(x.loc), function, x.loc)) {
    const std::int64_t n = y.shape()[static_cast<std::size_t>(a)], half = n / 2;
    y = roll({y, x.loc}, back ? -half : half, a);
  }
  return y;
}

}  // namespace

Array fftfreq(std::int64_t n, double d, DType dtype, std::source_location loc) {
  return frequencies("fft.fftfreq", n, d, dtype, false, loc);
}
Array rfftfreq(std::int64_t n, double d, DType dtype, std::source_location loc) {
  return frequencies("fft.rfftfreq", n, d, dtype, true, loc);
}
Array fftshift(Operand x, const AxisList& axes) { return shifted("fft.fftshift", x, axes, false); }
Array ifftshift(Operand x, const AxisList& axes) { return shifted("fft.ifftshift", x, axes, true); }

}  // namespace tessera::inline v0::fft
