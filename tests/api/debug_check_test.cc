// Checks of values inside and outside of traced functions.
#include <tessera/tessera.h>

#include "api/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ts = tessera;
using api_test::message;
using api_test::vec;
using ts::Array;

namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();

struct Model {
  std::vector<Array> layers;
};

TEST(DebugCheck, SaysWhatIsRefusedAndWhere) {
  EXPECT_EQ(message<ts::CheckError>([] {
              ts::debug::check(Array(std::vector<float>{1, 2, kNan, kNan}, {2, 2}));
            }),
            "debug::check: 2 of 4 elements of the value are refused; the first is nan at [1, 0]\n"
            "  rule: no NaN, no infinity\n"
            "  try: check what it is made of, or debug::print it");
  EXPECT_EQ(message<ts::CheckError>([] { ts::debug::check(Array(-kInf), {.name = "loss"}); }),
            "debug::check: 'loss' is -inf\n"
            "  rule: no NaN, no infinity\n"
            "  try: check what it is made of, or debug::print it");
  EXPECT_EQ(message<ts::CheckError>([] {
              ts::debug::check(Model{{vec({1}), ts::arange(7)}},
                               {.name = "weights", .min = 0, .max = 5.5});
            }),
            "debug::check: 1 of 7 elements of 'weights' is refused; the first is 6 at [6]\n"
            "  rule: at least 0, at most 5.5\n"
            "  at: layers/1\n"
            "  try: check what it is made of, or debug::print it");
}

TEST(DebugCheck, PassesWhatIsAllowed) {
  ts::debug::check(vec({1, 2}));
  ts::debug::check(vec({kNan, 2}), {.allow_nan = true});
  ts::debug::check(vec({kInf, -kInf}), {.allow_inf = true});
  ts::debug::check(ts::arange(5), {.min = 0, .max = 4});
  ts::debug::check(ts::zeros({0}), {.min = 1});
  ts::debug::check(Model{});
  EXPECT_EQ(message([] { ts::debug::check(vec({kInf}), {.allow_nan = true}); }).substr(0, 24),
            "debug::check: 1 of 1 ele");
}

TEST(DebugCheck, InsideOfFunctionsItIsTheResultsError) {
  const auto f = ts::jit([](Array x) {
    ts::debug::check(ts::log(x), {.name = "log x"});
    return x + 1;
  });
  EXPECT_EQ(f(vec({1, 2})).to_vector<float>(), (std::vector<float>{2, 3}));
  const std::string text = message<ts::CheckError>([&] { f(vec({1, -2})).block_until_ready(); });
  EXPECT_TRUE(text.ends_with(
      "debug::check: 1 of 2 elements of 'log x' is refused; the first is nan at [1]\n"
      "  rule: no NaN, no infinity\n"
      "  try: check what it is made of, or debug::print it"))
      << text;
  EXPECT_EQ(f(vec({3})).to_vector<float>(), std::vector<float>{4});
}

TEST(DebugCheck, KnowsTheDeviceAndTheMember) {
  ts::set_device_count(4);
  const auto f = ts::pmap(
      [](Array x) {
        ts::debug::check(x, {.max = 2});
        return x;
      },
      {.axis_name = "i"});
  EXPECT_EQ(f(ts::arange(3)).to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2}));
  std::string text = message<ts::CheckError>([&] { f(ts::arange(4)).block_until_ready(); });
  EXPECT_NE(text.find("debug::check: the value is 3, where i=3\n"), std::string::npos) << text;
  const auto g = ts::jit(ts::vmap([](Array x) {
    ts::debug::check(x, {.max = 4});
    return x;
  }));
  text = message<ts::CheckError>([&] { g(ts::arange(6).reshape({3, 2})).block_until_ready(); });
  EXPECT_NE(
      text.find("1 of 2 elements of the value is refused; the first is 5 at [1], where vmap=2\n"),
      std::string::npos)
      << text;
}

TEST(DebugCheck, InLoopsGradientsAndPartitionedPrograms) {
  ts::set_device_count(4);
  const auto blows_up = [](Array x) {
    return ts::fori_loop(
        0, 200,
        [](Array, Array c) {
          c = c * c;
          ts::debug::check(c, {.name = "c"});
          return c;
        },
        x);
  };
  EXPECT_NE(message<ts::CheckError>([&] {
              ts::jit(blows_up)(Array(2.0f)).block_until_ready();
            }).find("debug::check: 'c' is inf\n"),
            std::string::npos);
  EXPECT_EQ(ts::jit(blows_up)(Array(1.0f)).item<float>(), 1);
  EXPECT_NE(message<ts::CheckError>([&] {
              ts::jit(ts::grad(blows_up))(Array(2.0f)).block_until_ready();
            }).find("debug::check: 'c' is inf\n"),
            std::string::npos);
  const ts::Mesh mesh({{"x", 4}});
  const auto f = ts::jit(
      [](Array x) {
        ts::debug::check(x, {.max = 9});
        return x;
      },
      {.mesh = mesh, .in_shardings = {ts::P("x")}});
  EXPECT_NE(message<ts::CheckError>([&] {
              f(ts::arange(16)).block_until_ready();
            }).find("6 of 16 elements of the value are refused; the first is 10 at [10]\n"),
            std::string::npos);
}

TEST(DebugCheck, EqualProgramsAreCompiledOnce) {
  const auto loss = [](Array x) {
    ts::debug::check(x, {.name = "x", .max = 100});
    return x * x;
  };
  EXPECT_EQ(ts::grad(loss)(Array(1.0f)).item<float>(), 2);
  const std::int64_t compiled = ts::cache_stats().entries;
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(ts::grad(loss)(Array(2.0f + static_cast<float>(i))).item<float>(),
              static_cast<float>(4 + 2 * i));
  EXPECT_EQ(ts::cache_stats().entries, compiled);
  EXPECT_EQ(message<ts::CheckError>([&] { ts::grad(loss)(Array(101.0f)).block_until_ready(); }),
            "debug::check: 'x' is 101.0\n"
            "  rule: no NaN, no infinity, at most 100\n"
            "  try: check what it is made of, or debug::print it");
}

TEST(DebugCheck, RefusesBoundsThatCannotHold) {
  EXPECT_EQ(message([] { ts::debug::check(vec({1}), {.min = 2, .max = 1}); }),
            "debug::check: bounds from 2 to 1\n"
            "  rule: nothing lies between them\n"
            "  try: give the lesser one as min");
  EXPECT_EQ(message([] { ts::debug::check(vec({1}).astype(ts::complex64), {.min = 2}); }),
            "debug::check: bounds for values of complex64\n"
            "  rule: complex numbers have no order\n"
            "  try: check abs(x)");
}

}  // namespace
