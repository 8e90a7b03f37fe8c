// Draws numbers and values for a block under construction.
#pragma once

#include "program.h"

#include <algorithm>
#include <random>
#include <vector>

namespace devices {

class DrawValues {
 public:
  explicit DrawValues(std::uint64_t seed) : rng_(seed) {}

  /// Draws the elements of an input.
  std::vector<double> numbers(std::int64_t n) {
    std::vector<double> v;
    while (n-- > 0) v.push_back(static_cast<double>(pick(7)) - 3);
    return v;
  }
  bool one_in(int n) { return pick(n) == 0; }
  /// Draws a dimension, or -1 for none.
  int dimension(std::size_t rank) { return static_cast<int>(pick(static_cast<int>(rank) + 1)) - 1; }

 protected:
  static constexpr std::int64_t kMost = 64;  // elements

  int pick(int n) { return static_cast<int>(rng_() % static_cast<std::uint64_t>(n)); }
  template <class T>
  const T& any(const std::vector<T>& v) {
    return v[static_cast<std::size_t>(pick(static_cast<int>(v.size())))];
  }

  int emit(Block& b, Node n) {
    b.nodes.push_back(std::move(n));
    return b.size() - static_cast<int>(b.nodes.back().results.size());
  }
  int emit(Block& b, Kind kind, std::vector<int> in, std::vector<Extents> results,
           std::int64_t a = 0, std::int64_t c = 0) {
    Node n;
    n.kind = kind;
    n.in = std::move(in);
    n.results = std::move(results);
    n.a = a;
    n.c = c;
    return emit(b, std::move(n));
  }

  // Returns a random value of the block, mostly a recent one.
  int value(const Block& b) {
    const int n = b.size();
    return pick(3) ? std::max(0, n - 1 - pick(4)) : pick(n);
  }
  // Returns the last value of this shape, or makes one.
  int last(Block& b, const Extents& shape) {
    for (int v = b.size(); v-- > 0;)
      if (b.shape(v) == shape) return v;
    return emit(b, Kind::adapt, {value(b)}, {shape});
  }
  int of_shape(Block& b, const Extents& shape) {
    for (int tries = 0; tries < 4; ++tries)
      if (const int v = value(b); b.shape(v) == shape) return v;
    return last(b, shape);
  }
  // Returns a value that has dimensions, or -1 if there is none.
  int with_axes(const Block& b) {
    for (int tries = 0; tries < 8; ++tries)
      if (const int v = value(b); !b.shape(v).empty()) return v;
    return -1;
  }
  std::vector<int> some(const Block& b, int least, int most) {
    std::vector<int> v;
    for (int n = least + pick(most - least + 1); n > 0; --n) v.push_back(value(b));
    return v;
  }
  static std::vector<Extents> shapes(const Block& b, const std::vector<int>& values) {
    std::vector<Extents> s;
    for (int v : values) s.push_back(b.shape(v));
    return s;
  }
  static std::vector<int> join(std::vector<int> a, const std::vector<int>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  // Returns the last value of this shape, or a mixture if that is an input.
  int changed(Block& b, const Extents& shape) {
    const int v = last(b, shape);
    if (v >= static_cast<int>(b.inputs.size()) || one_in(4)) return v;
    return mixed(b, latest(b), shape);
  }
  // Returns the sum of the sums of all these values, so that each affects the result.
  int mixed(Block& b, const std::vector<int>& values, const Extents& shape) {
    int sum = -1;
    for (int v : values) {
      const int one = emit(b, Kind::adapt, {v}, {shape});
      sum = sum < 0 ? one : emit(b, Kind::add, {sum, one}, {shape});
    }
    return sum < 0 ? last(b, shape) : sum;
  }
  static std::vector<int> latest(const Block& b) {
    std::vector<int> v;
    for (int k = std::max(0, b.size() - 3); k < b.size(); ++k) v.push_back(k);
    return v;
  }

  std::mt19937_64 rng_;
};

}  // namespace devices
