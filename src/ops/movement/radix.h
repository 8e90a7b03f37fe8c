// Radix sort by unsigned keys, least significant digit first. It is stable, and looks only at the
// digits in which keys differ.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tessera::inline v0::ops {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;
using DigitCounts = std::array<std::uint32_t, kDigitValues>;

/// The bits in which any keys differ, divided into `count` digits.
struct Digits {
  int low = 0, width = 0, count = 0;

  template <class Key>
  static Digits of(Key differing, int widest) {
    if (differing == 0) return {};
    const int low = std::countr_zero(differing),
              all = static_cast<int>(std::bit_width(differing)) - low,
              count = (all + widest - 1) / widest;
    return {low, (all + count - 1) / count, count};
  }
  std::size_t values() const { return std::size_t{1} << width; }
  template <class Key>
  std::size_t value(Key key, int digit) const {
    return static_cast<std::size_t>(key >> (low + digit * width)) & (values() - 1);
  }
};

/// The width of the widest digit for n elements; few elements do not pay for a large table of
/// counts.
inline int widest_digit(std::size_t n) { return n < std::size_t{1} << 14 ? 8 : kDigitBits; }

/// The bits in which the keys of n elements differ.
template <class F>
typename F::Key differing_keys(const typename F::Element* from, std::size_t n) {
  typename F::Key any = 0, all = static_cast<typename F::Key>(~typename F::Key{0});
  for (std::size_t i = 0; i < n; ++i) {
    any |= F::key(from[i]);
    all &= F::key(from[i]);
  }
  return any & static_cast<typename F::Key>(~all);
}

/// Adds to `counts` how often each value of a digit occurs in n elements.
template <class F>
void count_digits(const typename F::Element* from, std::size_t n, const Digits& digits, int digit,
                  DigitCounts& counts) {
  for (std::size_t i = 0; i < n; ++i) ++counts[digits.value(F::key(from[i]), digit)];
}

/// Moves n elements to `to`, each to the next free place of its digit's value.
template <class F>
void move_by_digit(const typename F::Element* from, std::size_t n, const Digits& digits, int digit,
                   DigitCounts& next, typename F::Element* to) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto e = from[i];
    to[next[digits.value(F::key(e), digit)]++] = e;
  }
}

/// Sorts n elements by the bits of their keys in which they differ. Returns `a` or `b`, whichever
/// contains the result.
template <class F>
typename F::Element* radix_sort(typename F::Element* a, typename F::Element* b, std::size_t n,
                                typename F::Key differing) {
  const Digits digits = Digits::of(differing, widest_digit(n));
  DigitCounts counts;
  for (int digit = 0; digit < digits.count; ++digit) {
    std::fill_n(counts.begin(), digits.values(), 0);
    count_digits<F>(a, n, digits, digit, counts);
    std::uint32_t sum = 0;
    for (std::size_t v = 0; v < digits.values(); ++v) sum += std::exchange(counts[v], sum);
    move_by_digit<F>(a, n, digits, digit, counts, b);
    std::swap(a, b);
  }
  return a;
}

/// Moves the first or the last `count` of n elements, by the order of a stable sort, to `to`, in
/// any order. `to` has room for one more element. Changes `from`. Elements with equal keys must
/// already be in the order of the sort.
template <class F, bool last = false>
void select_by_key(typename F::Element* from, std::size_t n, std::size_t count,
                   typename F::Key differing, typename F::Element* to) {
  DigitCounts counts;
  while (count > 0) {
    if (differing == 0 || count == n) {
      std::copy_n(last ? from + (n - count) : from, count, to);
      return;
    }
    const int top = static_cast<int>(std::bit_width(differing)),
              width = std::min(top, widest_digit(n));
    const Digits digits{top - width, width, 1};
    std::fill_n(counts.begin(), digits.values(), 0);
    count_digits<F>(from, n, digits, 0, counts);
    // The value at which the count is reached.
    std::size_t at = last ? digits.values() - 1 : 0, whole = 0;
    for (; whole + counts[at] < count; at = last ? at - 1 : at + 1) whole += counts[at];
    std::size_t taken = 0, open = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto e = from[i];
      const std::size_t value = digits.value(F::key(e), 0);
      to[taken] = e;
      taken += last ? value > at : value < at;
      from[open] = e;
      open += value == at;
    }
    differing = differing_keys<F>(from, open);
    to += taken;
    count -= taken;
    n = open;
  }
}

}  // namespace tessera::inline v0::ops
