// Collects, replaces, maps and compares the leaves of trees.
#include <tessera/tree.h>

#include "base/message.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace tessera::inline v0 {
namespace detail {

namespace {

class Collector final : public detail::Visitor {
 public:
  explicit Collector(std::vector<Array>& out) : out_(out) {}
  void leaf(Array& x) override { out_.push_back(x); }
  void fixed(FixedKind, std::uint64_t, std::string_view) override {}
  void enter(const NodeType&, std::size_t) override {}
  void key(std::string_view) override {}
  void leave() override {}

 private:
  std::vector<Array>& out_;
};

class Filler final : public detail::Visitor {
 public:
  explicit Filler(std::span<const Array> leaves) : leaves_(leaves) {}
  void leaf(Array& x) override {
    if (next_ < leaves_.size()) x = leaves_[next_];
    ++next_;
  }
  void fixed(FixedKind, std::uint64_t, std::string_view) override {}
  void enter(const NodeType&, std::size_t) override {}
  void key(std::string_view) override {}
  void leave() override {}
  std::size_t seen() const { return next_; }

 private:
  std::span<const Array> leaves_;
  std::size_t next_ = 0;
};

}  // namespace

void collect(void (*walk)(const void*, Visitor&), const void* x, std::vector<Array>& leaves) {
  Collector c(leaves);
  walk(x, c);
}

void fill(void (*walk)(const void*, Visitor&), void* x, std::span<const Array> leaves,
          std::source_location loc) {
  Filler f(leaves);
  walk(x, f);
  require_leaf_count("tree::unflatten", f.seen(), leaves.size(), loc);
}
void fill(void (*walk)(const void*, Visitor&), void* x, const std::vector<Array>& leaves,
          std::source_location loc) {
  fill(walk, x, std::span<const Array>(leaves), loc);
}
void fill_first(void (*walk)(const void*, Visitor&), void* x, std::size_t count,
                std::span<const Array>& leaves) {
  fill(walk, x, leaves.first(count));
  leaves = leaves.subspan(count);
}

void require_leaf_count(const char* function, std::size_t expected, std::size_t got,
                        std::source_location loc) {
  if (expected == got) return;
  Message(function)
      .problem("got " + std::to_string(got) + " leaves for a tree of " + std::to_string(expected))
      .rule("there is one for each leaf of the tree, an empty Array for one that is not there")
      .from(loc)
      .advice("take them with tree::leaves from a tree of this structure")
      .raise<TreeError>();
}

std::vector<Array> mapped_leaves(const char* function, const std::vector<Array>* first_tree,
                                 std::size_t tree_count,
                                 Array (*call)(void* f, std::size_t leaf, std::span<const Array>),
                                 void* f) {
  const std::span<const std::vector<Array>> trees(first_tree, tree_count);
  const std::size_t count = trees[0].size();
  for (const auto& t : trees) require_leaf_count(function, count, t.size());
  std::vector<Array> out, row(trees.size());
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    bool absent = false;
    for (std::size_t t = 0; t < trees.size(); ++t) {
      row[t] = trees[t][i];
      absent |= row[t].is_empty();
    }
    out.push_back(absent ? row[0] : call(f, i, row));
  }
  return out;
}

bool leaves_equal(const Array& a, const Array& b) {
  if (a.is_empty() || b.is_empty()) return a.is_empty() == b.is_empty();
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  return dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto x = a.host<T>(), y = b.host<T>();
    return std::equal(x.begin(), x.end(), y.begin());
  });
}

bool leaves_close(const Array& a, const Array& b, double rtol, double atol) {
  if (a.is_empty() || b.is_empty()) return a.is_empty() == b.is_empty();
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  return dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto number = [](T v) {
      if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
        return static_cast<double>(static_cast<float>(v));
      else if constexpr (is_complex_v<T>)
        return std::complex<double>(v);
      else
        return static_cast<double>(v);
    };
    auto x = a.host<T>(), y = b.host<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto u = number(x[i]), v = number(y[i]);
      if (!(u == v || std::abs(u - v) <= atol + rtol * std::abs(v))) return false;
    }
    return true;
  });
}

}  // namespace detail

namespace tree {

std::int64_t element_count(std::span<const Array> leaves) {
  std::int64_t n = 0;
  for (const Array& x : leaves)
    if (!x.is_empty()) n += x.size();
  return n;
}

}  // namespace tree
}  // namespace tessera::inline v0
