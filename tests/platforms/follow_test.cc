// Programs run on the platform whose devices they name: arrays that are not committed follow, and
// arrays of another platform are refused. What a plan says of such programs.
#include "message.h"
#include "other_plugin.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace ts = tessera;
using test::message;
using ts::Array;
using ts::P;
using Floats = std::vector<float>;

namespace {

class Follow : public testing::Test {
 protected:
  static std::vector<ts::Device> load() {
    if (const char* other = std::getenv("TESSERA_TEST_PLUGIN"))  // such as XLA's for CPUs
      return ts::load_platform("following", other, test::two_devices());
    return ts::load_platform("following", TESSERA_PJRT_LIBRARY,
                             {{"device_count", std::int64_t{2}}});
  }
  void SetUp() override {
    if (there.size() < 2) GTEST_SKIP() << "the platform has one device";
    two = {there[0], there[1]};
    mesh = ts::Mesh({{"x", 2}}, two);
  }
  /// A function for the devices of the platform.
  auto each() const {
    return ts::shard_map([](Array a) { return a + ts::psum(a, "x"); },
                         {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .name = "each"});
  }
  static void expect_on(const std::vector<ts::Device>& devices, const Array& y,
                        const Floats& values) {
    EXPECT_EQ(y.sharding().devices(), devices);
    EXPECT_EQ(y.to_vector<float>(), values);
  }

  static std::string platform_of(const Array& y) {
    return std::string(y.sharding().devices()[0].platform);
  }

  const std::vector<ts::Device> there = load();
  std::vector<ts::Device> two;
  ts::Mesh mesh;
  const Array x = ts::arange(8.f);  // on the CPU, and not committed
  const Floats sums{4, 7, 10, 13, 8, 11, 14, 17}, threes{3, 3, 3, 3, 3, 3, 3, 3};
};

/// The text of the error of `f`, with the line.
template <class F>
std::string whole_text(F f) {
  try {
    f();
  } catch (const ts::Error& e) {
    return e.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST_F(Follow, ArraysThatAreNotCommittedGoToTheMesh) {
  expect_on(two, each()(x), sums);
  expect_on(two, ts::jit(each())(x), sums);
  const Array more = ts::jit([f = each()](Array a) { return f(a) + 1; })(x - 1);
  EXPECT_EQ(more.to_vector<float>(), (Floats{2, 5, 8, 11, 6, 9, 12, 15}));
  EXPECT_EQ(platform_of(more), "following");
  const auto f = [f = each()](Array a) { return ts::sum(f(a)); };
  EXPECT_EQ(ts::grad(f)(x).to_vector<float>(), threes);
  EXPECT_EQ(platform_of(ts::grad(f)(x)), "following");
  EXPECT_EQ(ts::jit(ts::grad(f))(x).to_vector<float>(), threes);
  EXPECT_EQ(platform_of(ts::jit(ts::grad(f))(x)), "following");
  EXPECT_EQ(ts::vmap(each())(ts::stack({x, x}))[1].to_vector<float>(), sums);
  // An array that the function captures follows, too.
  expect_on(two, ts::jit([&, f = each()](Array a) { return f(a * x); })(ts::ones({8})), sums);
}

TEST_F(Follow, ArraysThatAreNotCommittedGoToTheDevicesOfAPmap) {
  const auto f =
      ts::pmap([](Array a) { return a + ts::psum(a, "i"); }, {.axis_name = "i", .devices = two});
  const Array rows = x.reshape(2, 4);
  expect_on(two, f(rows), sums);
  expect_on(two, ts::jit(f)(rows), sums);
}

TEST_F(Follow, ArraysThatAreNotCommittedGoToTheMeshOfAJit) {
  const auto doubled = [](Array a) { return a * 2; };
  const Floats want{0, 2, 4, 6, 8, 10, 12, 14};
  expect_on(two,
            ts::jit(doubled, {.mesh = mesh, .in_shardings = P("x"), .out_shardings = P("x")})(x),
            want);
  const auto constrained = [&](Array a) {
    return ts::with_sharding_constraint(a * 2, ts::Sharding(mesh, P("x")));
  };
  expect_on(two, ts::jit(constrained)(x), want);
}

// The default platform does not matter.
TEST_F(Follow, AMeshOfTheCpuIsTheCpus) {
  const std::vector<ts::Device> here{ts::devices("cpu")[0]};
  const ts::Mesh one({{"x", 1}}, here);
  const ts::DefaultDevice chosen("following");
  const auto f = ts::shard_map([](Array a) { return a + ts::psum(a, "x"); },
                               {.mesh = one, .in_specs = P("x"), .out_specs = P("x")});
  const Array there_now = ts::arange(3.f);
  EXPECT_EQ(platform_of(there_now), "following");
  expect_on(here, f(there_now), Floats{0, 2, 4});
  expect_on(here, ts::jit(f)(there_now), Floats{0, 2, 4});
}

// A pmap without a list of devices is for those of the default platform, also inside a jit that was
// called before with another default.
TEST_F(Follow, TheDefaultOfEachCall) {
  const auto f = ts::jit(ts::pmap([](Array a) { return a * 3; }));
  const Array row = ts::arange(3.f).reshape(1, 3);
  for (int k = 0; k < 2; ++k) {
    {
      const ts::DefaultDevice chosen("following");
      expect_on({there[0]}, f(row), Floats{0, 3, 6});
    }
    expect_on({ts::devices("cpu")[0]}, f(row), Floats{0, 3, 6});
  }
  EXPECT_EQ(f.trace_count(), 2u);
}

// A pmap inside another one is on the platform of that one.
TEST_F(Follow, APmapInsideOnePutsItsQuestionToThatPlatform) {
  const auto f =
      ts::pmap(ts::pmap([](Array a) { return a + ts::psum(a, "j"); }, {.axis_name = "j"}),
               {.axis_name = "i", .devices = {there[1]}});
  expect_on({there[1]}, f(ts::arange(4.f).reshape(1, 2, 2)), Floats{2, 5, 4, 7});
}

TEST_F(Follow, ArraysOfAnotherPlatformAreRefused) {
  const Array here = ts::device_put(x, ts::Device{0});
  const auto refusal = [](const std::string& name) {
    return name +
           ": the function is over devices of 'following', and inputs are committed to another "
           "platform\n"
           "  - input 0, f32[8], is on CpuDevice(id=0)\n"
           "  rule: inputs that are not committed follow; nothing else is moved between platforms\n"
           "  try: move the inputs: device_put(x, devices(\"following\")[0]), or device_get(x), "
           "which is not committed";
  };
  EXPECT_EQ(message<ts::ShardingError>([&] { each()(here); }), refusal("each"));
  EXPECT_EQ(message<ts::ShardingError>([&] { ts::jit(each(), {.name = "whole"})(here); }),
            refusal("whole"));
  const auto divided = ts::jit([](Array a) { return a * 2; },
                               {.mesh = mesh, .in_shardings = P("x"), .name = "divided"});
  EXPECT_EQ(message<ts::ShardingError>([&] { divided(here); }), refusal("divided"));
  EXPECT_EQ(message<ts::ShardingError>(
                [&] { ts::grad([f = each()](Array a) { return ts::sum(f(a)); })(here); }),
            refusal("grad"));
  const auto mapped = ts::pmap([](Array a) { return a * 2; }, {.devices = two, .name = "mapped"});
  EXPECT_TRUE(message<ts::ShardingError>([&] {
                mapped(here.reshape(2, 4));
              }).starts_with("mapped: the function is over devices of 'following', and "));
  // The same arrays, where they may follow.
  expect_on(two, each()(ts::device_get(here)), sums);
  expect_on(two, each()(ts::device_put(here, there[1])), sums);
}

TEST_F(Follow, DevicesOfTwoPlatformsInOneFunctionAreRefused) {
  const ts::Mesh one({{"x", 1}}, {ts::devices("cpu")[0]});
  const auto here = ts::shard_map([](Array a) { return ts::psum(a, "x"); },
                                  {.mesh = one, .in_specs = P(), .out_specs = P()});
  EXPECT_EQ(message<ts::ShardingError>([&] {
              ts::jit([&, f = each()](Array a) { return here(f(a)); }, {.name = "both"})(x);
            }),
            "both: the function is over devices of 'following' and of 'cpu'\n"
            "  rule: a program runs on one platform; its maps over devices and its constraints "
            "name its devices\n"
            "  try: a function for each platform, and device_put(x, device) between them");
}

// The whole text, with the line of the call.
TEST_F(Follow, ArraysOnTwoDevicesAreRefusedAsOnTheCpu) {
  const Array a = ts::device_put(x, there[0]), b = ts::device_put(x, there[1]);
  const auto refusal = [](const std::string& name, int line) {
    return name +
           ": the inputs are committed to different devices\n"
           "  - input 0, f32[8], is on FollowingDevice(id=0)\n"
           "  - input 1, f32[8], is on FollowingDevice(id=1)\n"
           "  rule: a computation runs on one device; inputs that are not committed follow those "
           "that are\n" +
           (line ? "  from: follow_test.cc:" + std::to_string(line) + "\n" : "") +
           "  try: move one of them: device_put(x, device), or device_get(x), which is not "
           "committed";
  };
  EXPECT_EQ(whole_text([&] { a + b; }), refusal("add", __LINE__));
  EXPECT_EQ(whole_text([&] { ts::dot(a, b); }), refusal("dot", __LINE__));
  EXPECT_EQ(whole_text([&] { ts::concatenate({a, b}); }), refusal("concatenate", __LINE__));
  // Compiled functions have a name, by default with the line on which they were made.
  EXPECT_EQ(whole_text([&] {
              ts::jit([](Array p, Array q) { return p * q; }, {.name = "product"})(a, b);
            }),
            refusal("product", 0));
}

// A plan of a program over the platform's mesh has the collectives of the program that our
// partitioner writes, as a plan for the same mesh on the CPU, and names the platform.
TEST_F(Follow, PlansAreThoseOfTheSameMeshOnTheCpu) {
  const auto loss = [](Array w, Array batch) { return ts::mean(ts::square(ts::matmul(batch, w))); };
  const auto step = [&](Array w, Array batch) { return w - 0.1 * ts::grad(loss)(w, batch); };
  const auto planned = [&](const ts::Mesh& on) {
    const auto f = ts::jit(
        step, {.mesh = on, .in_shardings = {P(), P("x")}, .out_shardings = P(), .name = "step"});
    return f.explain(ts::abstract(ts::f32, {16, 4}), ts::abstract(ts::f32, {32, 16}));
  };
  const ts::Plan plan = planned(mesh);
  EXPECT_EQ(plan.mesh, "Mesh('x': 2) of 'following'");
  ASSERT_EQ(plan.collectives.size(), 1u) << plan;
  EXPECT_EQ(plan.collectives[0].kind, "all_reduce");
  EXPECT_EQ(plan.collectives[0].axes, std::vector<std::string>{"x"});
  EXPECT_EQ(plan.collectives[0].bytes, 256);  // f32[16,4]
  ts::Plan of_cpu = planned(ts::Mesh::abstract({{"x", 2}}));
  of_cpu.mesh = plan.mesh;
  EXPECT_EQ(ts::to_string(plan), ts::to_string(of_cpu));
  EXPECT_NE(
      ts::to_string(plan).find("plan of step over Mesh('x': 2) of 'following', 2 devices, each\n"),
      std::string::npos)
      << plan;
  EXPECT_NE(ts::to_string(plan).find("256 B received in 1 collective\n"), std::string::npos)
      << plan;
}

TEST_F(Follow, PlansOfMapsNameTheirCollectives) {
  const auto f = ts::jit(each(), {.name = "whole"});
  const ts::Plan plan = f.explain(x);
  EXPECT_EQ(plan.mesh, "Mesh('x': 2) of 'following'");
  ASSERT_EQ(plan.collectives.size(), 1u) << plan;
  EXPECT_EQ(plan.collectives[0].kind, "all_reduce");
  EXPECT_EQ(plan.collectives[0].type, "f32[4]");
  EXPECT_EQ(plan.moved_bytes, 16);
  const std::vector<ts::CollectiveUse> uses = f.lower(x).collectives();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(ts::to_string(uses[0]), "psum over 'x': 16 bytes");
  // The module that the plug-in gets has the same collective.
  EXPECT_NE(f.lower(x).schedule().find("stablehlo.all_reduce"), std::string::npos);
}
