#include <tessera/tree.h>

#include "message.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ts = tessera;
using ts::Array;

namespace {

enum class Mode { train, eval };
struct Layer {
  Array w, b;
};
struct Mlp {
  std::vector<Layer> layers;
  int heads = 4;
  std::string name;
  std::optional<Array> scale;
  Mode mode = Mode::eval;
  std::map<std::string, Array> extra;
  std::array<Array, 2> pair;
  std::tuple<Array, bool> t;
  float rate = 0.1f;
};
struct Recursive {
  Array value;
  std::vector<Recursive> children;
};
struct Nothing {};
class Linear {
 public:
  explicit Linear(int) {}
  TESSERA_FIELDS(weight_, bias)
  Array weight_, bias;
};
struct Derived : Layer {
  Array extra;
};
auto tessera_fields(Derived& d) { return std::tie(d.w, d.b, d.extra); }

Array leaf(float v) { return Array(std::vector<float>{v}); }
Mlp sample() {
  Mlp m;
  m.layers = {{leaf(1), leaf(2)}, {leaf(3), {}}};
  m.name = "net";
  m.extra = {{"k", leaf(5)}, {"a", leaf(4)}};
  m.pair = {leaf(6), leaf(7)};
  m.t = {leaf(8), true};
  return m;
}
std::vector<float> values(const std::vector<Array>& leaves) {
  std::vector<float> out;
  for (const Array& x : leaves) out.push_back(x.is_empty() ? -1.f : x.to_vector<float>()[0]);
  return out;
}
using test::message;

TEST(Tree, LeavesComeInOrderOfDeclarationAndKeysSorted) {
  EXPECT_EQ(values(ts::tree::leaves(sample())), (std::vector<float>{1, 2, 3, -1, 4, 5, 6, 7, 8}));
  EXPECT_EQ(ts::tree::paths(sample()),
            (std::vector<std::string>{"layers/0/w", "layers/0/b", "layers/1/w", "layers/1/b",
                                      "extra/a", "extra/k", "pair/0", "pair/1", "t/0"}));
  EXPECT_EQ(ts::tree::paths(leaf(1)), (std::vector<std::string>{""}));
}

TEST(Tree, StructurePrints) {
  EXPECT_EQ(to_string(ts::tree::structure(sample())),
            "Mlp{layers: [Layer{w: *, b: *}, Layer{w: *, b: *}], heads: 4, name: \"net\", scale: "
            "none, mode: 1, "
            "extra: {\"a\": *, \"k\": *}, pair: [*, *], t: (*, true), rate: 0.1}");
}

TEST(Tree, PresentOptionalIsTransparent) {
  Mlp m = sample();
  m.scale = leaf(9);
  EXPECT_EQ(ts::tree::paths(m)[4], "scale");
}

TEST(Tree, StaticValuesAreStructure) {
  Mlp a = sample(), b = sample();
  EXPECT_EQ(ts::tree::structure(a), ts::tree::structure(b));
  EXPECT_EQ(ts::tree::structure(a).hash(), ts::tree::structure(b).hash());
  b.heads = 5;
  EXPECT_FALSE(ts::tree::structure(a) == ts::tree::structure(b));
  b = sample();
  b.rate = 0.2f;
  EXPECT_FALSE(ts::tree::structure(a) == ts::tree::structure(b));
}

TEST(Tree, UnflattenKeepsStatics) {
  Mlp m = sample();
  std::vector<Array> leaves = ts::tree::leaves(m);
  for (Array& x : leaves) x = leaf(0);
  Mlp z = ts::tree::unflatten(m, std::span<const Array>(leaves));
  EXPECT_EQ(z.heads, 4);
  EXPECT_EQ(z.name, "net");
  EXPECT_EQ(values(ts::tree::leaves(z)), std::vector<float>(9, 0.f));
  leaves.pop_back();
  EXPECT_EQ(message([&] { ts::tree::unflatten(m, std::span<const Array>(leaves)); }),
            "tree::unflatten: got 8 leaves for a tree of 9\n  rule: there is one for each leaf of "
            "the tree, an empty Array for one that is not there\n  try: take them with "
            "tree::leaves from a tree of this structure");
}

TEST(Tree, MapZipsTreesAndLeavesEmptyLeavesAlone) {
  Mlp a = sample(), b = sample();
  b.layers[0].w = {};
  int calls = 0;
  Mlp c = ts::tree::map(
      [&](const Array& x, const Array& y) {
        ++calls;
        return Array(std::vector<float>{10 * x.item<float>() + y.item<float>()});
      },
      a, b);
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(values(ts::tree::leaves(c)), (std::vector<float>{1, 22, 33, -1, 44, 55, 66, 77, 88}));
}

TEST(Tree, MapListsEveryDifferenceOfStructure) {
  Mlp a = sample(), b = sample();
  b.layers.pop_back();
  b.heads = 8;
  b.extra.erase("k");
  b.extra["z"] = leaf(1);
  EXPECT_EQ(
      message([&] { ts::tree::map([](Array x, Array) { return x; }, a, b); }),
      "tree::map: trees[0] and trees[1] differ in structure\n  - at layers: a sequence of 2 and a "
      "sequence of 1\n  - at heads: the static value 4 and the static value 8\n  - at extra/k: "
      "named \"k\" and \"z\"\n  rule: both need the same containers, keys and static values\n  "
      "try: build both alike: as many elements, the same keys and static values");
}

TEST(Tree, MapWithPath) {
  std::vector<std::string> seen;
  ts::tree::map_with_path(
      [&](const std::string& path, Array x) {
        seen.push_back(path);
        return x;
      },
      std::pair(leaf(1), Layer{leaf(2), leaf(3)}));
  EXPECT_EQ(seen, (std::vector<std::string>{"0", "1/w", "1/b"}));
}

TEST(Tree, IntegersAreKeysOfMaps) {
  const std::map<int, Array> stages{{10, leaf(3)}, {-1, leaf(1)}, {2, leaf(2)}};
  EXPECT_EQ(ts::tree::paths(stages), (std::vector<std::string>{"-1", "2", "10"}));
  EXPECT_EQ(values(ts::tree::leaves(stages)), (std::vector<float>{1, 2, 3}));
  const auto doubled = ts::tree::map([](const Array& x) { return x + x; }, stages);
  EXPECT_EQ(doubled.at(10).item<float>(), 6);
  EXPECT_FALSE(ts::tree::structure(stages) == ts::tree::structure(std::map<int, Array>{
                                                  {10, leaf(3)}, {-1, leaf(1)}, {3, leaf(2)}}));
  const std::map<std::uint64_t, Array> large{{UINT64_MAX, leaf(1)}};
  EXPECT_EQ(ts::tree::paths(large), std::vector<std::string>{"18446744073709551615"});
}

TEST(Tree, RecursiveAndEmptyStructs) {
  Recursive r{leaf(1), {{leaf(2), {}}, {leaf(3), {{leaf(4), {}}}}}};
  EXPECT_EQ(ts::tree::paths(r),
            (std::vector<std::string>{"value", "children/0/value", "children/1/value",
                                      "children/1/children/0/value"}));
  EXPECT_EQ(ts::tree::leaves(Nothing{}).size(), 0u);
  EXPECT_EQ(to_string(ts::tree::structure(Nothing{})), "Nothing{}");
}

TEST(Tree, ClassesRegister) {
  Linear l(3);
  l.weight_ = leaf(1), l.bias = leaf(2);
  EXPECT_EQ(ts::tree::paths(l), (std::vector<std::string>{"weight", "bias"}));
  Linear z = ts::tree::map([](Array) { return leaf(7); }, l);
  EXPECT_EQ(values(ts::tree::leaves(z)), (std::vector<float>{7, 7}));
  Derived d;
  d.w = leaf(1), d.b = leaf(2), d.extra = leaf(3);
  EXPECT_EQ(ts::tree::paths(d), (std::vector<std::string>{"0", "1", "2"}));
}

TEST(Tree, EqualAndAllclose) {
  Mlp a = sample(), b = sample();
  EXPECT_TRUE(ts::tree::equal(a, b));
  b.layers[0].w = leaf(1.000001f);
  EXPECT_FALSE(ts::tree::equal(a, b));
  EXPECT_TRUE(ts::tree::allclose(a, b));
  b.layers[0].w = leaf(std::nanf(""));
  EXPECT_FALSE(ts::tree::equal(b, b));
  EXPECT_EQ(ts::tree::size(a), 8);
}

TEST(Tree, ThirtyTwoFields) {
  struct Wide {
    Array a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
        c2, c3, c4, c5, c6, c7, c8, c9, d0, d1;
  };
  EXPECT_EQ(ts::tree::paths(Wide{}).back(), "d1");
  EXPECT_EQ(ts::tree::paths(Wide{}).size(), 32u);
}

TEST(Axes, ArePrefixes) {
  auto def = ts::tree::structure(std::tuple(sample().layers, leaf(1), 3));
  const int r = ts::detail::kReplicated;
  EXPECT_EQ(ts::detail::broadcast_axes("vmap", 0, "in_axes", def, "args"),
            (std::vector<int>{0, 0, 0, 0, 0}));
  EXPECT_EQ(
      ts::detail::broadcast_axes("vmap", {{{0, ts::replicated}, 1}, -1, 0}, "in_axes", def, "args"),
      (std::vector<int>{0, r, 1, 1, -1}));
  EXPECT_EQ(
      message([&] {
        ts::detail::broadcast_axes("vmap", {{{0, 1, 2}, 0, 1}, {0}, 0}, "in_axes", def, "args");
      }),
      "vmap: in_axes does not fit args\n"
      "  - in_axes[0] = {{0, 1, 2}, 0, 1} has 3 entries, but args[0] has 2 children\n"
      "  - in_axes[1] = {0} has 1 entry, but args[1] is an array\n"
      "  rule: an entry is an axis or replicated for everything below it, or a list with one entry "
      "a child\n"
      "  try: give one entry for each: {0, ts::replicated}, or a single one for all: 0");
}

}  // namespace
