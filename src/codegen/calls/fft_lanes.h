// Fourier transforms of several lines at once, one in each lane of a vector: no operation mixes
// lanes, so that a line's bits do not depend on how many there are.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::inline v0::codegen {

/// One point of the lines, which are floats or doubles. Aligned by itself: compilers align a vector
/// by what the processor has that they compile for.
template <class P>
struct alignas(64) FftPoint {
  static constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(P));
  /// Complex numbers that one access brings into the cache.
  static constexpr std::int64_t kFetched = kLanes / 2;
  typedef P Vector __attribute__((vector_size(64)));
  Vector re, im;
};

/// sum over j of x[j] exp(-2 pi i j k / n). With real and imaginary parts exchanged, before and
/// behind, it is the transform back, n times as large.
template <class P>
class FftLanes {
 public:
  using Point = FftPoint<P>;
  virtual ~FftLanes() = default;
  /// Where the result is, of the two: n points and as many of work as it says. Safe from several
  /// threads.
  virtual Point* run(Point* x, Point* work) const = 0;
  std::int64_t points() const { return points_; }
  virtual std::int64_t work_points() const { return points_; }

  static std::unique_ptr<const FftLanes> make(std::int64_t n);

 protected:
  explicit FftLanes(std::int64_t n) : points_(n) {}
  const std::int64_t points_;
};

/// Whether a length has small factors only: others are convolutions, of a length that has.
bool is_fft_smooth(std::int64_t n);
/// The next length that has, and is quick.
std::int64_t fft_length_for(std::int64_t n);

/// The numbers c(j) = exp(-pi i j^2 / n), by which the transform of n points is a convolution
/// (Bluestein 1970): j k = (j^2 + k^2 - (k - j)^2) / 2, so X(k) is
/// c(k) sum over j of x(j) c(j) conj(c(k - j)).
std::vector<std::complex<double>> fft_chirp(std::int64_t n);

extern template class FftLanes<float>;
extern template class FftLanes<double>;

}  // namespace tessera::inline v0::codegen
