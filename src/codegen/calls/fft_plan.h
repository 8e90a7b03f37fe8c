// Fourier transforms of lines of one length: short lines several at once, long ones one at a time.
#pragma once

#include "codegen/calls/fft_lanes.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::inline v0::codegen {

/// A line that exceeds the caches, treated as a matrix whose columns and rows are transformed
/// (Bailey 1990): with n = a b, j = j1 b + j2 and k = k1 + a k2, columns j2 are transformed to k1,
/// multiplied by exp(-2 pi i j2 k1 / n), and rows k1 are transformed to k2. The direction is that
/// of FftLanes.
template <class P>
class FftMatrix {
 public:
  using Number = std::complex<P>;
  using Point = FftPoint<P>;
  explicit FftMatrix(std::int64_t n);

  /// The number of tasks in each half; a task transforms several columns or rows.
  std::int64_t column_tasks() const { return (b_ + kLanes - 1) / kLanes; }
  std::int64_t row_tasks() const { return (a_ + kLanes - 1) / kLanes; }
  std::int64_t space_points() const { return space_points_; }
  /// The size of the intermediate result between the halves.
  std::int64_t half_numbers() const { return a_ * stride_; }

  /// Transforms the columns of one task; read(j) is number j of the line.
  template <class Read>
  void columns(const Read& read, Number* half, Point* space, std::int64_t task) const {
    const std::int64_t j = task * kLanes, count = std::min(kLanes, b_ - j);
    clear(space, a_, count);
    for (std::int64_t i = 0; i < a_; ++i)
      for (std::int64_t c = 0; c < count; ++c) set(space[i], c, read(i * b_ + j + c));
    const Point* done = columns_->run(space, space + a_);
    for (std::int64_t k = 0; k < a_; ++k) {
      const Point x = turned(done[k], j, k);
      for (std::int64_t c = 0; c < count; ++c) half[k * stride_ + j + c] = {x.re[c], x.im[c]};
    }
  }
  /// Transforms the rows of one task, after all columns; calls write(k, X(k)).
  template <class Write>
  void rows(const Number* half, Point* space, std::int64_t task, const Write& write) const {
    const std::int64_t k = task * kLanes, count = std::min(kLanes, a_ - k);
    clear(space, b_, count);
    for (std::int64_t first = 0; first < b_; first += Point::kFetched)
      for (std::int64_t c = 0; c < count; ++c)
        for (std::int64_t j = first; j < std::min(first + Point::kFetched, b_); ++j)
          set(space[j], c, half[(k + c) * stride_ + j]);
    const Point* done = rows_->run(space, space + b_);
    for (std::int64_t i = 0; i < b_; ++i)
      for (std::int64_t c = 0; c < count; ++c)
        write(i * a_ + k + c, Number(done[i].re[c], done[i].im[c]));
  }

 private:
  static constexpr std::int64_t kLanes = Point::kLanes;
  static void set(Point& p, std::int64_t lane, Number x) {
    p.re[lane] = x.real();
    p.im[lane] = x.imag();
  }
  // Zeroes the points if some lanes stay unused.
  static void clear(Point* p, std::int64_t n, std::int64_t count) {
    if (count < kLanes) std::fill(p, p + n, Point{});
  }
  Point turned(const Point& x, std::int64_t column, std::int64_t k) const;

  std::int64_t a_, b_;
  // The stride of a row, padded because columns with a power-of-two stride share few cache sets.
  std::int64_t stride_;
  std::unique_ptr<const FftLanes<P>> columns_, rows_;
  std::int64_t space_points_;
  // Roots of unity by low and high digits; in lanes_, exp(-2 pi i c k / n) for each k, in lane c.
  std::vector<std::complex<double>> fine_, coarse_;
  std::vector<Point> lanes_;
};

/// A long line with large prime factors, computed as a convolution by FftMatrix.
template <class P>
class FftConvolved {
 public:
  using Number = std::complex<P>;
  explicit FftConvolved(std::int64_t n);
  std::int64_t space_points() const { return matrix_.space_points(); }
  std::int64_t work_numbers() const { return m_ + matrix_.half_numbers(); }
  /// Transforms the n numbers of x in place.
  void run(Number* x, Number* work, FftPoint<P>* space) const;

 private:
  void transform(const Number* from, Number* to, Number* half, FftPoint<P>* space) const;
  std::int64_t n_, m_;
  FftMatrix<P> matrix_;
  std::vector<Number> chirp_, kernel_;
};

/// Exactly one of the three is set. The choice depends on the length alone, so that a line has the
/// same bits alone and among others.
template <class P>
struct FftPlan {
  explicit FftPlan(std::int64_t n);
  std::unique_ptr<const FftLanes<P>> lanes;
  std::unique_ptr<const FftMatrix<P>> matrix;
  std::unique_ptr<const FftConvolved<P>> convolved;

  /// Plans are shared. The most recently used ones are kept, up to about 64 MB for each type.
  static std::shared_ptr<const FftPlan> get(std::int64_t n);
};

extern template class FftMatrix<float>;
extern template class FftMatrix<double>;
extern template class FftConvolved<float>;
extern template class FftConvolved<double>;
extern template struct FftPlan<float>;
extern template struct FftPlan<double>;

}  // namespace tessera::inline v0::codegen
