// Static arrays are part of the compile key by their content, and constants of the traced function.
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>
#include <tessera/static_array.h>
#include <tessera/warning.h>

#include "api/check.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using api_test::f32s;
using api_test::message;
using ts::Array;
using ts::StaticArray;

namespace {

using Floats = std::vector<float>;

/// Collects the warnings while it is alive.
struct Heard {
  std::vector<std::string> texts;
  ts::WarningHandler before =
      ts::set_warning_handler([this](const std::string& t) { texts.push_back(t); });
  ~Heard() { ts::set_warning_handler(before); }
};

// The values decide what is traced: zeros cost nothing.
Array filter(Array x, StaticArray taps) {
  Array y = ts::zeros_like(x);
  for (float w : taps.array().host<float>())
    if (w != 0) y = y + w * x;
  return y;
}

struct Table {
  StaticArray values;
  int scale = 1;
  Array weight;
};

}  // namespace

TEST(StaticArray, IsPartOfTheKeyByContent) {
  ts::set_device_count(4);
  auto f = ts::pmap(filter, {.in_axes = {0, ts::replicated}});
  Array x = Array(Floats{1, 2, 3, 4});
  EXPECT_EQ(f32s(f(x, ts::array({0.5, 0.0, 1.0}))), (Floats{1.5, 3, 4.5, 6}));
  EXPECT_EQ(f32s(f(x, ts::array({0.5, 0.0, 1.0}))), (Floats{1.5, 3, 4.5, 6}));
  EXPECT_EQ(f.trace_count(), 1u);
  EXPECT_EQ(f32s(f(x, ts::array({1.0, 1.0, 1.0}))), (Floats{3, 6, 9, 12}));
  EXPECT_EQ(f.trace_count(), 2u);
  // It can be stored, and made from a computation whose shards are on several devices.
  StaticArray kept = ts::pmap([](Array v) { return v * 0.5; })(ts::array({1.0, 0.0, 2.0}));
  EXPECT_EQ(ts::to_string(kept.array().sharding()), "SingleDevice(CpuDevice(id=0))");
  EXPECT_EQ(f32s(f(x, kept)), (Floats{1.5, 3, 4.5, 6}));
  EXPECT_EQ(f.trace_count(), 2u);
}

TEST(StaticArray, EqualsByDtypeShapeAndBytes) {
  Array x = Array(Floats{1, 2, 3, 4});
  EXPECT_TRUE(StaticArray(x) == StaticArray(Array(Floats{1, 2, 3, 4})));
  EXPECT_FALSE(StaticArray(x) == StaticArray(x.reshape(2, 2)));
  EXPECT_FALSE(StaticArray(x) == StaticArray(Array(std::vector<std::int32_t>{1, 2, 3, 4})));
  EXPECT_FALSE(StaticArray(ts::zeros({1})) == StaticArray(-ts::zeros({1})));   // 0 and -0
  EXPECT_FALSE(StaticArray(Array(1.0f)) == StaticArray(ts::array({1.0})[0]));  // weak
  EXPECT_FALSE(StaticArray() == StaticArray(ts::zeros({0})));
  EXPECT_TRUE(StaticArray() == StaticArray());
  EXPECT_EQ(StaticArray(x).nbytes(), 16);
}

// In a tree it is not a leaf: it is not mapped, differentiated or replaced.
TEST(StaticArray, LivesInTrees) {
  Table t{ts::array({2.0, 3.0}), 1, ts::array({5.0})};
  EXPECT_EQ(ts::tree::leaves(t).size(), 1u);
  auto f = ts::jit([](Table t) {
    return ts::grad([](Table t) { return ts::sum(t.values.array() * t.weight); })(t);
  });
  Table g = f(t);
  EXPECT_EQ(f32s(g.weight), (Floats{5}));
  EXPECT_TRUE(g.values == t.values);
  EXPECT_EQ(f32s(g.values.array()), (Floats{2, 3}));
  t.values = ts::array({4.0, 4.0});
  EXPECT_EQ(f32s(f(t).weight), (Floats{8}));
  EXPECT_EQ(f.trace_count(), 2u);
}

TEST(StaticArray, NeedsValues) {
  EXPECT_EQ(message<ts::TraceError>(
                [] { ts::jit([](Array x) { return ts::jit(filter)(x, x); })(ts::ones({2})); }),
            "StaticArray: the array f32[2] is traced\n"
            "  rule: a static array is known when a function is traced: it needs values\n"
            "  try: make the parameter an Array, or pass values from outside the traced function");
  EXPECT_THROW(StaticArray(ts::abstract(ts::f32, {2})), ts::TraceError);
  EXPECT_THROW(StaticArray{Array()}, ts::TraceError);
}

TEST(StaticArray, WarnsOnceWhenLarge) {
  Heard heard;
  auto f =
      ts::jit([](Array x, StaticArray t) { return x + ts::sum(t.array()); }, {.name = "lookup"});
  f(1.0f, ts::ones({16384}));  // 64 KiB
  EXPECT_TRUE(heard.texts.empty());
  f(1.0f, ts::ones({16385}));
  f(1.0f, ts::ones({16386}));
  ASSERT_EQ(heard.texts.size(), 1u);
  EXPECT_EQ(heard.texts[0],
            "lookup: an argument has 65540 bytes of static values\n"
            "  rule: static values are part of the key: every call reads and compares them, and "
            "each content is traced and compiled anew\n"
            "  at: args[1]\n"
            "  try: make it an Array, unless the program has to depend on its values");
  // The numbers of a vector are static too.
  ts::jit([](Array x, std::vector<double> v) { return x * v[0]; }, {.name = "numbers"})(
      1.0f, std::vector<double>(10000, 2.0));
  ASSERT_EQ(heard.texts.size(), 2u);
  EXPECT_NE(heard.texts[1].find("numbers: an argument has 80000 bytes"), std::string::npos);
}
