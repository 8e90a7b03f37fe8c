// Choices that are read from a tape of numbers. A drawn case is a function of the tape, so a
// shorter tape of smaller numbers gives a simpler case, and a failure is shrunk by shrinking its
// tape.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace walk {

using Ints = std::vector<std::int64_t>;

using Tape = std::vector<std::uint32_t>;

class Dice {
 public:
  explicit Dice(Tape tape) : tape_(std::move(tape)) {}

  /// A number in [0, n); 0 after the end of the tape. If n is 1, nothing is read.
  std::int64_t below(std::int64_t n) {
    if (n <= 1 || at_ >= tape_.size()) return 0;
    return static_cast<std::int64_t>(tape_[at_++]) % n;
  }
  /// A number in [lo, hi]; the simplest is 0, if it is in the range.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    std::int64_t k = below(hi - lo + 1);
    if (lo > 0 || hi < 0) return lo + k;
    return k <= hi ? k : hi - k;
  }
  bool toss() { return below(2) == 1; }
  bool once_in(std::int64_t n) { return below(n) == n - 1; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))];
  }
  /// The numbers below n in any order.
  Ints permutation(std::int64_t n) {
    Ints p(static_cast<std::size_t>(n));
    std::iota(p.begin(), p.end(), std::int64_t{0});
    for (std::int64_t i = 0; i + 1 < n; ++i)
      std::swap(p[static_cast<std::size_t>(i)], p[static_cast<std::size_t>(i + below(n - i))]);
    return p;
  }
  /// `k` of the numbers below n in any order.
  Ints some(std::int64_t k, std::int64_t n) {
    Ints p = permutation(n);
    p.resize(static_cast<std::size_t>(k));
    return p;
  }
  /// Any of the numbers below n, ascending.
  Ints subset(std::int64_t n) {
    Ints s;
    for (std::int64_t i = 0; i < n; ++i)
      if (toss()) s.push_back(i);
    return s;
  }
  /// Extents for the corners of vector loops: none, one, below, at and above a vector's width.
  std::int64_t extent() { return of(Ints{2, 1, 3, 4, 0, 5, 7, 8, 16, 17, 33}); }
  std::int64_t small_extent() { return of(Ints{1, 2, 3, 0, 4}); }

  bool ended() const { return at_ >= tape_.size(); }

 private:
  Tape tape_;
  std::size_t at_ = 0;
};

/// The most elements of a drawn array.
inline constexpr std::int64_t kMostElements = 4000;

}  // namespace walk
