// Fourier transforms of several lines at once, one in each vector lane. No operation mixes lanes,
// so the bits of a line do not depend on the number of lines.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::inline v0::codegen {

/// One point of the lines, in floats or doubles. The alignment is explicit, because compilers
/// otherwise align a vector according to the processor that they compile for.
template <class P>
struct alignas(64) FftPoint {
  static constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(P));
  /// Number of complex numbers in a cache line.
  static constexpr std::int64_t kFetched = kLanes / 2;
  typedef P Vector __attribute__((vector_size(64)));
  Vector re, im;
};

/// sum over j of x[j] exp(-2 pi i j k / n). Exchanging real and imaginary parts before and after
/// gives the inverse transform times n.
template <class P>
class FftLanes {
 public:
  using Point = FftPoint<P>;
  virtual ~FftLanes() = default;
  /// Transforms the n points of `x`, using work_points() points of `work`. Returns the one of the
  /// two that holds the result. Thread-safe.
  virtual Point* run(Point* x, Point* work) const = 0;
  std::int64_t points() const { return points_; }
  virtual std::int64_t work_points() const { return points_; }

  static std::unique_ptr<const FftLanes> make(std::int64_t n);

 protected:
  explicit FftLanes(std::int64_t n) : points_(n) {}
  const std::int64_t points_;
};

/// Copies whole lines, one for each lane, from or to points. A line consists of `numbers` complex
/// numbers, given as pairs of floats or doubles. The bits are only moved.
template <class P>
void lines_to_points(const P* const* lines, std::int64_t numbers, FftPoint<P>* points);
template <class P>
void points_to_lines(const FftPoint<P>* points, std::int64_t numbers, P* const* lines);

/// The transform X of real lines of 2 n points from the transform Z of their n pairs, in place. The
/// transforms of the even and the odd points are (Z(k) + Z*(n - k)) / 2 and
/// (Z(k) - Z*(n - k)) / 2i, and X(k) is the first plus the second times
/// roots[k] = exp(-pi i k / n). `z` has room for n + 1 points.
template <class P>
void unpair_points(FftPoint<P>* z, std::int64_t n, const std::complex<P>* roots);

/// Whether n has small prime factors only. Other lengths are transformed as convolutions of a
/// smooth length.
bool is_fft_smooth(std::int64_t n);
/// The next smooth length that is fast.
std::int64_t fft_length_for(std::int64_t n);

/// The numbers c(j) = exp(-pi i j^2 / n), which turn a transform of n points into a convolution
/// (Bluestein 1970): since j k = (j^2 + k^2 - (k - j)^2) / 2, X(k) is c(k) times the sum over j of
/// x(j) c(j) conj(c(k - j)).
std::vector<std::complex<double>> fft_chirp(std::int64_t n);

extern template class FftLanes<float>;
extern template class FftLanes<double>;

}  // namespace tessera::inline v0::codegen
