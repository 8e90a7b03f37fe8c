#include "codegen/calls/fft_plan.h"

#include "ops/linalg/fft.h"

#include <cmath>
#include <list>
#include <mutex>

namespace tessera::inline v0::codegen {
namespace {

// Lines of this many points, in all lanes, fit a core's cache.
constexpr std::int64_t kInCache = 4096;

constexpr std::int64_t kFine = 1024;

// The largest factor of n up to its square root.
std::int64_t rows_of(std::int64_t n) {
  auto a = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % a) --a;
  return a;
}

// Omits the check for infinities of C++'s complex product.
template <class P>
std::complex<P> times(std::complex<P> a, std::complex<P> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class P>
std::complex<P> narrowed(std::complex<double> x) {
  return {static_cast<P>(x.real()), static_cast<P>(x.imag())};
}

}  // namespace

template <class P>
FftMatrix<P>::FftMatrix(std::int64_t n)
    : a_(rows_of(n)),
      b_(n / a_),
      stride_(b_ + Point::kLanes),
      columns_(FftLanes<P>::make(a_)),
      rows_(FftLanes<P>::make(b_)),
      space_points_(std::max(a_ + columns_->work_points(), b_ + rows_->work_points())) {
  const auto root = [n](std::int64_t k) { return std::conj(ops::unit_root(k, n)); };
  for (std::int64_t k = 0; k < std::min(n, kFine); ++k) fine_.push_back(root(k));
  for (std::int64_t k = 0; k < n; k += kFine) coarse_.push_back(root(k));
  for (std::int64_t k = 0; k < a_; ++k) {
    Point p;
    for (std::int64_t c = 0; c < kLanes; ++c) set(p, c, narrowed<P>(root(c * k % n)));
    lanes_.push_back(p);
  }
}

template <class P>
FftPoint<P> FftMatrix<P>::turned(const Point& x, std::int64_t column, std::int64_t k) const {
  const auto turns = static_cast<std::size_t>(column * k);
  const std::complex<P> first = narrowed<P>(times(coarse_[turns / kFine], fine_[turns % kFine]));
  const Point& each = lanes_[static_cast<std::size_t>(k)];
  const auto re = each.re * first.real() - each.im * first.imag(),
             im = each.re * first.imag() + each.im * first.real();
  return {x.re * re - x.im * im, x.re * im + x.im * re};
}

template <class P>
FftConvolved<P>::FftConvolved(std::int64_t n) : n_(n), m_(fft_length_for(2 * n - 1)), matrix_(m_) {
  const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  std::vector<Number> kernel(at(m_)), half(at(matrix_.half_numbers()));
  for (std::int64_t j = 0; const std::complex<double> c : fft_chirp(n)) {
    chirp_.push_back(narrowed<P>(c));
    kernel[at(j)] = kernel[at((m_ - j) % m_)] = narrowed<P>(std::conj(c) / static_cast<double>(m_));
    ++j;
  }
  kernel_.resize(at(m_));
  std::vector<FftPoint<P>> space(at(space_points()));
  transform(kernel.data(), kernel_.data(), half.data(), space.data());
}

template <class P>
void FftConvolved<P>::transform(const Number* from, Number* to, Number* half,
                                FftPoint<P>* space) const {
  const auto read = [=](std::int64_t j) { return from[j]; };
  const auto write = [=](std::int64_t k, Number x) { to[k] = x; };
  for (std::int64_t t = 0; t < matrix_.column_tasks(); ++t) matrix_.columns(read, half, space, t);
  for (std::int64_t t = 0; t < matrix_.row_tasks(); ++t) matrix_.rows(half, space, t, write);
}

// The inverse transform exchanges real and imaginary parts before and after the forward transform.
template <class P>
void FftConvolved<P>::run(Number* x, Number* work, FftPoint<P>* space) const {
  Number *const line = work, *const half = work + m_;
  const auto exchanged = [](Number z) { return Number(z.imag(), z.real()); };
  for (std::int64_t j = 0; j < n_; ++j) line[j] = times(x[j], chirp_[static_cast<std::size_t>(j)]);
  std::fill(line + n_, line + m_, Number(0));
  transform(line, line, half, space);
  for (std::int64_t k = 0; k < m_; ++k)
    line[k] = exchanged(times(line[k], kernel_[static_cast<std::size_t>(k)]));
  transform(line, line, half, space);
  for (std::int64_t k = 0; k < n_; ++k)
    x[k] = times(exchanged(line[k]), chirp_[static_cast<std::size_t>(k)]);
}

template <class P>
FftPlan<P>::FftPlan(std::int64_t n) {
  if (n <= kInCache)
    lanes = FftLanes<P>::make(n);
  else if (is_fft_smooth(n))
    matrix = std::make_unique<FftMatrix<P>>(n);
  else
    convolved = std::make_unique<FftConvolved<P>>(n);
}

namespace {

template <class P>
class Kept {
 public:
  std::shared_ptr<const FftPlan<P>> get(std::int64_t n) {
    {
      std::lock_guard lock(mutex_);
      if (auto plan = find(n)) return plan;
    }
    auto plan = std::make_shared<const FftPlan<P>>(n);
    std::lock_guard lock(mutex_);
    if (auto other = find(n)) return other;  // another thread was faster
    entries_.push_front({n, plan});
    points_ += n;
    while (points_ > kMostPoints && entries_.size() > 1) {
      points_ -= entries_.back().n;
      entries_.pop_back();
    }
    return plan;
  }

 private:
  struct Entry {
    std::int64_t n;
    std::shared_ptr<const FftPlan<P>> plan;
  };
  static constexpr std::int64_t kMostPoints = 1 << 20;  // up to 64 bytes each
  std::shared_ptr<const FftPlan<P>> find(std::int64_t n) {
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->n == n) {
        entries_.splice(entries_.begin(), entries_, it);
        return it->plan;
      }
    return nullptr;
  }
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::int64_t points_ = 0;
};

}  // namespace

template <class P>
std::shared_ptr<const FftPlan<P>> FftPlan<P>::get(std::int64_t n) {
  // Leaked on purpose, because threads of the pool may use it at exit.
  static auto* kept = new Kept<P>;
  return kept->get(n);
}

template class FftMatrix<float>;
template class FftMatrix<double>;
template class FftConvolved<float>;
template class FftConvolved<double>;
template struct FftPlan<float>;
template struct FftPlan<double>;

}  // namespace tessera::inline v0::codegen
