// KISS FFT takes lengths of the factors 2, 3 and 5; for others it sums over each prime factor, which
// is quadratic in it. Those are convolutions here (Bluestein 1970), carried out by transforms of a
// length that the library takes; short ones are summed. It goes all over a line at every step, so
// one that no cache holds is a matrix here, whose columns and rows it transforms (Bailey 1990).
#include "codegen/calls/fft_plan.h"

#include "ops/linalg/fft.h"

#include <kissfft/kissfft.hh>

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>

namespace tessera::inline v0::codegen {
namespace {

using Number = FftPlan::Number;

bool is_smooth(std::int64_t n) {
  for (std::int64_t p : {2, 3, 5})
    while (n % p == 0) n /= p;
  return n == 1;
}

class Smooth : public FftPlan {
 public:
  Smooth(std::int64_t n, bool backward) : fft_(static_cast<std::size_t>(n), backward) {}
  void run(const Number* in, Number* out, Number*) const override { fft_.transform(in, out); }

 private:
  kissfft<double> fft_;
};

class Summed : public FftPlan {
 public:
  Summed(std::int64_t n, bool backward) : n_(n) {
    for (std::int64_t k = 0; k < n; ++k) {
      const Number w = ops::unit_root(k, n);
      roots_.push_back(backward ? w : std::conj(w));
    }
  }
  void run(const Number* in, Number* out, Number*) const override {
    for (std::int64_t k = 0; k < n_; ++k) {
      Number sum = 0;
      for (std::int64_t j = 0; j < n_; ++j)
        sum += in[j] * roots_[static_cast<std::size_t>(j * k % n_)];
      out[k] = sum;
    }
  }

 private:
  std::int64_t n_;
  std::vector<Number> roots_;
};

// j = j1 b + j2 and k = k1 + a k2 of n = a b: columns j2 are transformed to k1, turned by
// exp(-2 pi i j2 k1 / n), and rows k1 to k2.
class Matrix : public FftPlan {
 public:
  Matrix(std::int64_t a, std::int64_t b, bool backward)
      : a_(static_cast<std::size_t>(a)),
        b_(static_cast<std::size_t>(b)),
        columns_(a_, backward),
        rows_(b_, backward) {
    const std::int64_t n = a * b;
    const auto root = [&](std::int64_t k) {
      const Number w = ops::unit_root(k, n);
      return backward ? w : std::conj(w);
    };
    for (std::int64_t k = 0; k < kFine; ++k) fine_.push_back(root(k));
    for (std::int64_t k = 0; k < n; k += kFine) coarse_.push_back(root(k));
  }
  std::size_t work_points() const override { return a_ * b_ + 2 * kTogether * std::max(a_, b_); }
  void run(const Number* in, Number* out, Number* work) const override {
    Number *line = work + a_ * b_, *done = line + kTogether * std::max(a_, b_);
    for (std::size_t j = 0; j < b_; j += kTogether) {
      const std::size_t count = std::min(kTogether, b_ - j);
      for (std::size_t i = 0; i < a_; ++i)
        for (std::size_t c = 0; c < count; ++c) line[c * a_ + i] = in[i * b_ + j + c];
      for (std::size_t c = 0; c < count; ++c) columns_.transform(line + c * a_, done + c * a_);
      for (std::size_t k = 0; k < a_; ++k)
        for (std::size_t c = 0; c < count; ++c)
          work[k * b_ + j + c] = done[c * a_ + k] * root((j + c) * k);
    }
    for (std::size_t k = 0; k < a_; k += kTogether) {
      const std::size_t count = std::min(kTogether, a_ - k);
      for (std::size_t c = 0; c < count; ++c) rows_.transform(work + (k + c) * b_, done + c * b_);
      for (std::size_t i = 0; i < b_; ++i)
        for (std::size_t c = 0; c < count; ++c) out[i * a_ + k + c] = done[c * b_ + i];
    }
  }

 private:
  static constexpr std::size_t kTogether = 8;  // columns that are fetched together
  static constexpr std::int64_t kFine = 1024;
  Number root(std::size_t k) const { return coarse_[k / kFine] * fine_[k % kFine]; }
  std::size_t a_, b_;
  kissfft<double> columns_, rows_;
  std::vector<Number> fine_, coarse_;  // roots of unity by the low and the high digits
};

std::shared_ptr<const FftPlan> smooth(std::int64_t n, bool backward) {
  constexpr std::int64_t kInCache = 1 << 14;
  if (n <= kInCache) return std::make_shared<Smooth>(n, backward);
  auto a = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % a) --a;
  return std::make_shared<Matrix>(a, n / a, backward);
}

// j k = (j^2 + k^2 - (k - j)^2) / 2, so X(k) = c(k) sum over j of x(j) c(j) conj(c(k - j)) with
// c(j) = exp(-pi i j^2 / n), or its conjugate backward.
class Convolved : public FftPlan {
 public:
  Convolved(std::int64_t n, bool backward)
      : n_(static_cast<std::size_t>(n)),
        m_(length_for(n)),
        forward_(smooth(static_cast<std::int64_t>(m_), false)),
        back_(smooth(static_cast<std::int64_t>(m_), true)) {
    for (std::int64_t j = 0, square = 0; j < n; ++j) {
      const Number c = ops::unit_root(square, 2 * n);
      chirp_.push_back(backward ? c : std::conj(c));
      square = (square + 2 * j + 1) % (2 * n);  // (j + 1)^2
    }
    std::vector<Number> kernel(m_);
    const double each = 1 / static_cast<double>(m_);
    for (std::size_t j = 0; j < n_; ++j) {
      kernel[j] = std::conj(chirp_[j]) * each;
      if (j > 0) kernel[m_ - j] = kernel[j];
    }
    kernel_.resize(m_);
    std::vector<Number> work(forward_->work_points());
    forward_->run(kernel.data(), kernel_.data(), work.data());
  }
  std::size_t work_points() const override { return 2 * m_ + forward_->work_points(); }
  void run(const Number* in, Number* out, Number* work) const override {
    Number *x = work, *y = work + m_, *more = work + 2 * m_;
    for (std::size_t j = 0; j < n_; ++j) x[j] = in[j] * chirp_[j];
    std::fill(x + n_, x + m_, Number(0));
    forward_->run(x, y, more);
    for (std::size_t k = 0; k < m_; ++k) y[k] *= kernel_[k];
    back_->run(y, x, more);
    for (std::size_t k = 0; k < n_; ++k) out[k] = x[k] * chirp_[k];
  }

 private:
  static std::size_t length_for(std::int64_t n) {
    std::int64_t m = 2 * n - 1;
    while (!is_smooth(m)) ++m;
    return static_cast<std::size_t>(m);
  }
  std::size_t n_, m_;
  std::shared_ptr<const FftPlan> forward_, back_;
  std::vector<Number> chirp_, kernel_;
};

std::shared_ptr<const FftPlan> make(std::int64_t n, bool backward) {
  constexpr std::int64_t kShort = 24;
  if (is_smooth(n)) return smooth(n, backward);
  if (n <= kShort) return std::make_shared<Summed>(n, backward);
  return std::make_shared<Convolved>(n, backward);
}

class Kept {
 public:
  std::shared_ptr<const FftPlan> get(std::int64_t n, bool backward) {
    {
      std::lock_guard lock(mutex_);
      if (auto plan = find(n, backward)) return plan;
    }
    std::shared_ptr<const FftPlan> plan = make(n, backward);
    std::lock_guard lock(mutex_);
    if (auto other = find(n, backward)) return other;  // another thread was quicker
    entries_.push_front({n, backward, plan});
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
    bool backward;
    std::shared_ptr<const FftPlan> plan;
  };
  static constexpr std::int64_t kMostPoints = 1 << 20;  // of up to 64 bytes
  std::shared_ptr<const FftPlan> find(std::int64_t n, bool backward) {
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->n == n && it->backward == backward) {
        entries_.splice(entries_.begin(), entries_, it);
        return it->plan;
      }
    return nullptr;
  }
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::int64_t points_ = 0;
};

}  // namespace

std::shared_ptr<const FftPlan> FftPlan::get(std::int64_t n, bool backward) {
  static Kept* kept = new Kept;  // leaked on purpose, as all that threads of the pool may use
  return kept->get(n, backward);
}

}  // namespace tessera::inline v0::codegen
