// Sorts by several keys, as JAX writes them: a comparator in lexicographic order.
#include "stablehlo/import/import.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

constexpr int kCount = 200;

// A module that sorts x, k and their positions by a comparator: %a and %b are elements of x, %c and
// %d of k. The operations before it give the constants zero and NaN, as portable artifacts do.
std::string module_by(const std::string& comparator) {
  const std::string n = std::to_string(kCount), f = "tensor<" + n + "xf32>",
                    i = "tensor<" + n + "xi32>", types = f + ", " + i + ", " + i;
  return "func.func public @main(%x: " + f + ", %k: " + i + ") -> (" + types + R"() {
    %i = stablehlo.iota dim = 0 : )" +
         i + R"(
    %0:3 = "stablehlo.sort"(%x, %k, %i) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>):
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
)" + comparator +
         "      stablehlo.return %r : tensor<i1>\n    }) : (" + types + ") -> (" + types +
         ")\n    return %0#0, %0#1, %0#2 : " + types + "\n  }";
}

// JAX's key of a float: -0 becomes 0, and every NaN the same one.
std::string key_of(const std::string& x, const std::string& name) {
  const std::string types = " : (tensor<f32>, tensor<f32>) -> tensor<i1>\n";
  return "%z" + name + " = stablehlo.compare EQ, " + x + ", %zero, FLOAT" + types + "%s" + name +
         " = stablehlo.select %z" + name + ", %zero, " + x + " : tensor<i1>, tensor<f32>\n%n" +
         name + " = stablehlo.compare NE, " + x + ", " + x + ", FLOAT" + types + "%" + name +
         " = stablehlo.select %n" + name + ", %nan, %s" + name + " : tensor<i1>, tensor<f32>\n";
}
std::string compared(const std::string& name, const std::string& how, const std::string& type) {
  const bool floats = type == "f32";
  return "%" + name + " = stablehlo.compare " + how + (floats ? ", TOTALORDER" : "") +
         " : (tensor<" + type + ">, tensor<" + type + ">) -> tensor<i1>\n";
}
std::string joined(const std::string& order, const std::string& equal, const std::string& rest) {
  return "%m = stablehlo.and " + equal + ", " + rest + " : tensor<i1>\n%r = stablehlo.or " + order +
         ", %m : tensor<i1>\n";
}

struct Drawn {
  Floats x;
  Ints k;
};
// Many equal elements; zeros of both signs, and NaNs.
Drawn draw() {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::mt19937 random(7);
  Drawn d;
  for (int i = 0; i < kCount; ++i) {
    const float values[] = {0.0f, -0.0f, kNan, -kNan, 1.5f, -2.0f, 3.0f};
    d.x.push_back(values[random() % std::size(values)]);
    d.k.push_back(static_cast<std::int32_t>(random() % 5) - 2);
  }
  return d;
}

template <class T>
T at(const std::vector<T>& all, int i) {
  return all[static_cast<std::size_t>(i)];
}

template <class Before>
void expect_order(const std::string& comparator, bool by_keys, const Before& before) {
  const std::string module = module_by(comparator);
  auto source = std::make_shared<ts::stablehlo::Source>();
  source->text = module;
  const auto syntax = ts::stablehlo::parse(source, {0, module.size()});
  const std::string program =
      to_string(*ts::stablehlo::import_function(syntax.at(0), "main").program);
  EXPECT_EQ(program.find("order_by") == program.npos, by_keys) << program;
  const Drawn d = draw();
  const auto out = ts::load_stablehlo_text(module)(Array(d.x), Array(d.k));
  Ints order(kCount);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return before(d, i, j); });
  EXPECT_EQ(out[2].to_vector<std::int32_t>(), order);
  const Floats x = out[0].to_vector<float>();
  const Ints k = out[1].to_vector<std::int32_t>();
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    EXPECT_EQ(k[i], d.k[from]);
    EXPECT_EQ(std::isnan(x[i]), std::isnan(d.x[from]));
    EXPECT_EQ(std::signbit(x[i]), std::signbit(d.x[from]));
    EXPECT_EQ(std::isnan(x[i]) ? 0 : x[i], std::isnan(x[i]) ? 0 : d.x[from]);
  }
}

// Numbers before NaN.
int by_float(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) - std::isnan(y);
  return x < y ? -1 : y < x;
}

}  // namespace

TEST(SortsByKeys, FloatsThenIntegers) {
  const std::string keys = key_of("%a", "u") + key_of("%b", "v");
  const std::string text = keys + compared("rest", "LT, %c, %d", "i32") +
                           compared("lt", "LT, %u, %v", "f32") +
                           compared("eq", "EQ, %u, %v", "f32") + joined("%lt", "%eq", "%rest");
  expect_order(text, true, [](const Drawn& d, int i, int j) {
    const int c = by_float(at(d.x, i), at(d.x, j));
    return c ? c < 0 : at(d.k, i) < at(d.k, j);
  });
}

// Descending by the second operand, and then by the magnitude of the first.
TEST(SortsByKeys, DescendingAndComputedKeys) {
  const std::string text =
      "%g = stablehlo.abs %a : tensor<f32>\n%h = stablehlo.abs %b : tensor<f32>\n" +
      key_of("%g", "u") + key_of("%h", "v") + compared("rest", "LT, %u, %v", "f32") +
      compared("gt", "GT, %c, %d", "i32") + compared("eq", "EQ, %c, %d", "i32") +
      joined("%gt", "%eq", "%rest");
  expect_order(text, true, [](const Drawn& d, int i, int j) {
    if (at(d.k, i) != at(d.k, j)) return at(d.k, i) > at(d.k, j);
    return by_float(std::abs(at(d.x, i)), std::abs(at(d.x, j))) < 0;
  });
}

// The same key twice, and the third one is that of the positions, descending.
TEST(SortsByKeys, ThreeKeys) {
  const std::string text = compared("last", "GT, %e, %f", "i32") +
                           compared("lt", "LT, %c, %d", "i32") +
                           compared("eq", "EQ, %c, %d", "i32") +
                           "%m1 = stablehlo.and %last, %eq : tensor<i1>\n"
                           "%r1 = stablehlo.or %m1, %lt : tensor<i1>\n" +
                           joined("%lt", "%eq", "%r1");
  expect_order(text, true, [](const Drawn& d, int i, int j) {
    return at(d.k, i) != at(d.k, j) ? at(d.k, i) < at(d.k, j) : i > j;
  });
}

// Two keys by a selection.
TEST(SortsByKeys, Selection) {
  const std::string text = compared("rest", "GT, %e, %f", "i32") +
                           compared("lt", "LT, %c, %d", "i32") +
                           compared("eq", "EQ, %c, %d", "i32") +
                           "%r = stablehlo.select %eq, %rest, %lt : tensor<i1>, tensor<i1>\n";
  expect_order(text, true, [](const Drawn& d, int i, int j) {
    return at(d.k, i) != at(d.k, j) ? at(d.k, i) < at(d.k, j) : i > j;
  });
}

// Comparators that are called.
TEST(SortsByKeys, OtherComparators) {
  const std::string inverted =
      compared("ge", "GE, %c, %d", "i32") + "%r = stablehlo.not %ge : tensor<i1>\n";
  expect_order(inverted, false,
               [](const Drawn& d, int i, int j) { return at(d.k, i) < at(d.k, j); });
  // The second key decides where the remainders by two are less or the numbers are equal: even
  // numbers come first, and those of a kind keep their order.
  const std::string unlike =
      "%one = stablehlo.constant dense<1> : tensor<i32>\n"
      "%g = stablehlo.and %c, %one : tensor<i32>\n"
      "%h = stablehlo.and %d, %one : tensor<i32>\n" +
      compared("rest", "LT, %e, %f", "i32") + compared("lt", "LT, %g, %h", "i32") +
      compared("eq", "EQ, %c, %d", "i32") + joined("%lt", "%eq", "%rest");
  expect_order(unlike, false, [](const Drawn& d, int i, int j) {
    const int p = at(d.k, i) & 1, q = at(d.k, j) & 1;
    return p < q;
  });
}
