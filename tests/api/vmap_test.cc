#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

#include <gtest/gtest.h>

#include "api/check.h"

namespace ts = tessera;
using namespace api_test;
using Floats = std::vector<float>;

namespace {

struct Layer {
  Array w, b;
  int power = 2;
};

TEST(Vmap, MapsTheFirstAxisByDefault) {
  Array y = ts::vmap([](Array x, Array y) { return ts::sum(x) * y; })(mat({1, 2, 3, 4}, {2, 2}),
                                                                      vec({10, 100}));
  EXPECT_EQ(f32s(y), (Floats{30, 700}));
}

TEST(Vmap, AxesCountFromEitherEnd) {
  Array x = mat({1, 2, 3, 4, 5, 6}, {2, 3});
  auto f = [](Array v) { return v * 2; };
  EXPECT_EQ(f32s(ts::vmap(f, {.in_axes = 1})(x)), (Floats{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(ts::vmap(f, {.in_axes = -1})(x).shape(), (ts::Shape{3, 2}));
  EXPECT_EQ(f32s(ts::vmap(f, {.in_axes = 1, .out_axes = 1})(x)), (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(f32s(ts::vmap(f, {.in_axes = 0, .out_axes = -1})(x)), (Floats{2, 8, 4, 10, 6, 12}));
}

TEST(Vmap, ReplicatedStaticAndNestedAxes) {
  Layer l{mat({1, 2, 3, 4}, {2, 2}), vec({10, 20}), 3};
  auto f = [](Layer p, Array x, int scale) { return ts::sum(p.w * x) * scale + p.b; };
  Array y =
      ts::vmap(f, {.in_axes = {{0, ts::replicated, 0}, ts::replicated, 0}})(l, vec({1, 1}), 2);
  EXPECT_EQ(f32s(y), (Floats{16, 26, 24, 34}));
  Array z = ts::vmap(f, {.in_axes = {0, 0, 0}})(l, mat({1, 1, 2, 2}, {2, 2}), 1);
  EXPECT_EQ(f32s(z), (Floats{13, 34}));
}

TEST(Vmap, ResultsThatDoNotDependAreRepeated) {
  Array k = vec({7});
  auto [a, b, text] =
      ts::vmap([&](Array x) { return std::tuple(x, k + 1, std::string("t")); })(vec({1, 2}));
  EXPECT_EQ(f32s(b), (Floats{8, 8}));
  EXPECT_EQ(b.shape(), (ts::Shape{2, 1}));
  EXPECT_EQ(text, "t");
  auto r = ts::vmap([&](Array x) { return std::pair(x, k + 1); },
                    {.out_axes = {0, ts::replicated}})(vec({1, 2}));
  EXPECT_EQ(f32s(r.second), (Floats{8}));
  EXPECT_EQ(f32s(ts::vmap([&](Array x) { return x; },
                          {.in_axes = ts::replicated, .axis_size = 3})(Array(2.f))),
            (Floats{2, 2, 2}));
}

TEST(Vmap, Nests) {
  auto outer =
      ts::vmap([](Array x, Array ys) { return ts::vmap([&](Array y) { return x * y; })(ys); },
               {.in_axes = {0, ts::replicated}});
  EXPECT_EQ(f32s(outer(vec({1, 10}), vec({1, 2, 3}))), (Floats{1, 2, 3, 10, 20, 30}));
  auto matmul = ts::vmap(
      ts::vmap([](Array r, Array c) { return ts::dot(r, c); }, {.in_axes = {ts::replicated, 1}}),
      {.in_axes = {0, ts::replicated}});
  EXPECT_EQ(f32s(matmul(mat({1, 2, 3, 4}, {2, 2}), mat({5, 6, 7, 8}, {2, 2}))),
            (Floats{19, 22, 43, 50}));
}

TEST(Vmap, PerExampleGradients) {
  auto loss = [](Array w, Array x) { return ts::sum(w * x) * ts::sum(w * x); };
  Array g = ts::vmap(ts::grad(loss), {.in_axes = {ts::replicated, 0}})(vec({1, 2}),
                                                                       mat({1, 1, 2, 0}, {2, 2}));
  EXPECT_EQ(f32s(g), (Floats{6, 6, 8, 0}));
  auto total = [&](Array w, Array xs) {
    return ts::sum(ts::vmap(loss, {.in_axes = {ts::replicated, 0}})(w, xs));
  };
  EXPECT_EQ(f32s(ts::grad(total)(vec({1, 2}), mat({1, 1, 2, 0}, {2, 2}))), (Floats{14, 6}));
}

TEST(Vmap, OfJitIsTracedOnce) {
  auto f = ts::jit([](Array x) { return x + 1; });
  EXPECT_EQ(f32s(ts::vmap(f)(vec({1, 2}))), (Floats{2, 3}));
  EXPECT_EQ(f32s(ts::vmap(f)(vec({1, 2, 3}))), (Floats{2, 3, 4}));
  EXPECT_EQ(f.trace_count(), 1u);
}

TEST(VmapErrors, ListEveryOffender) {
  const std::source_location none{};
  auto f = [](Layer l, Array x) { return l.w + x; };
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::vmap(f, {}, none)(Layer{mat({1, 2, 3, 4, 5, 6}, {3, 2}), vec({1, 2})},
                                    vec({1, 2, 3, 4}));
            }),
            "vmap: the mapped axes differ in size\n"
            "  - args[0]/w: axis 0 of f32[3,2] has size 3\n"
            "  - args[0]/b: axis 0 of f32[2] has size 2\n"
            "  - args[1]: axis 0 of f32[4] has size 4\n"
            "  rule: all mapped axes have one size: the number of examples\n"
            "  try: set in_axes to map another axis of a leaf, or ts::replicated where all "
            "examples share it");
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::vmap(f, {.in_axes = {0, 1}}, none)(Layer{Array(1.f), vec({1})}, vec({1, 2}));
            }),
            "vmap: in_axes names axes that do not exist\n  - args[0]/w is f32[], which has no axis "
            "0\n  - args[1] is f32[2], which has no axis 1\n  rule: a mapped leaf has rank at "
            "least 1, and its axis lies in [-rank, rank)\n  try: give leaves that every example "
            "shares ts::replicated in in_axes");
  EXPECT_EQ(message<ts::TreeError>([&] {
              ts::vmap(f, {.in_axes = {{0, 0}, 0, 0}}, none)(Layer{vec({1}), {}}, vec({1}));
            }),
            "vmap: in_axes does not fit args\n"
            "  - in_axes = {{0, 0}, 0, 0} has 3 entries, but args has 2 children\n"
            "  rule: an entry is an axis or replicated for everything below it, or a list with one "
            "entry a child\n"
            "  try: give one entry for each: {0, ts::replicated}, or a single one for all: 0");
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::vmap(f, {.in_axes = ts::replicated}, none)(Layer{vec({1}), {}}, vec({1}));
            }),
            "vmap: no argument is mapped: in_axes is replicated\n"
            "  rule: the number of examples comes from a mapped axis, or from axis_size\n"
            "  try: map at least one array argument, or give axis_size");
  EXPECT_EQ(
      message<ts::ShapeError>([&] {
        ts::vmap([](Array x) { return std::pair(x, x + 1); }, {.out_axes = {0, ts::replicated}},
                 none)(vec({1, 2}));
      }),
      "vmap: out_axes says replicated for results that differ between examples\n"
      "  - result[1]: f32[] for each example\n"
      "  rule: only a result that depends on no mapped argument is the same for all examples\n"
      "  try: stack it with an axis in out_axes, or reduce it over the examples with a collective "
      "over axis_name");
  EXPECT_EQ(
      message<ts::ShapeError>([&] {
        ts::vmap([](Array x) { return x; }, {.out_axes = 2}, none)(vec({1, 2}));
      }),
      "vmap: out_axes names axes that do not exist\n  - result is f32[] for each example, so the "
      "stack has rank 1 and no axis 2\n  rule: a result of rank r for each example is stacked "
      "along an axis in [-(r + 1), r + 1)\n  try: 0 puts the examples first, -1 last");
}

}  // namespace
