// Programs of whole arrays over a platform's mesh, divided by our partitioner or by the platform's.
#include "message.h"
#include "other_plugin.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

class Partitioners : public testing::TestWithParam<ts::Partitioner> {
 protected:
  static std::vector<ts::Device> load() {
    if (const char* other = std::getenv("TESSERA_TEST_PLUGIN"))
      return ts::load_platform("theirs", other, test::two_devices());
    return ts::load_platform("mine", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{2}}});
  }
  void SetUp() override {
    if (there.size() < 2) GTEST_SKIP() << "the platform has one device";
    ts::set_partitioner(GetParam());
    mesh = ts::Mesh({{"data", 2}}, {there[0], there[1]});
  }
  void TearDown() override { ts::set_partitioner(ts::Partitioner::tessera); }
  bool platforms() const { return GetParam() == ts::Partitioner::platform; }

  const std::vector<ts::Device> there = load();
  ts::Mesh mesh;
};

struct Layers {
  Array first, second;
};
Array loss(const Layers& w, Array x, Array y) {
  return ts::mean(ts::square(ts::matmul(ts::tanh(ts::matmul(x, w.first)), w.second) - y));
}
Array drawn(std::uint64_t seed, const ts::Shape& shape) {
  return ts::random::normal(ts::random::key(seed), shape, ts::f64);
}
double apart(const Array& got, const Array& want) {
  return ts::max(ts::abs(ts::device_get(got) - want)).item<double>();
}

}  // namespace

TEST_P(Partitioners, AStepOfTraining) {
  const Layers w{drawn(1, {6, 8}), drawn(2, {8, 4})};
  const Array x = drawn(3, {10, 6}), y = drawn(4, {10, 4});
  const auto step = [](Layers w, Array x, Array y) {
    auto [value, grads] = ts::value_and_grad(loss)(w, x, y);
    return std::pair(ts::tree::map([](Array p, Array g) { return p - 0.1 * g; }, w, grads), value);
  };
  const auto [want, want_loss] = ts::jit(step)(w, x, y);
  for (const ts::SpecTree& weights : {ts::SpecTree(P()), ts::SpecTree(P("data"))}) {
    const auto divided = ts::jit(step, {.mesh = mesh,
                                        .in_shardings = {weights, P("data"), P("data")},
                                        .out_shardings = {weights, P()}});
    const std::string text = divided.lower(w, x, y).schedule();
    EXPECT_EQ(text.find("manual_computation") == std::string::npos, platforms()) << text;
    EXPECT_NE(text.find("sdy.sharding"), std::string::npos);
    const auto [got, got_loss] = divided(w, x, y);
    EXPECT_LE(apart(got.first, want.first), 1e-14);
    EXPECT_LE(apart(got.second, want.second), 1e-14);
    EXPECT_LE(apart(got_loss, want_loss), 1e-14);
  }
}

// Computation follows the data: no sharding is asked for.
TEST_P(Partitioners, ArgumentsOnSeveralDevices) {
  const Array x = drawn(5, {8, 6});
  const Array parts = ts::device_put(x, mesh, P("data"));
  const auto f = [](Array a) { return ts::sum(a * a, 0) + ts::max(a); };
  EXPECT_LE(apart(ts::jit(f)(parts), f(x)), 1e-13);
}

// What our partitioner refuses is refused in the same words.
TEST_P(Partitioners, UnevenExtentsAreRefused) {
  const auto divided =
      ts::jit([](Array a) { return a * 2; }, {.mesh = mesh, .in_shardings = {P("data")}});
  EXPECT_TRUE(test::message<ts::ShardingError>([&] {
                divided(drawn(6, {7, 3}));
              }).starts_with("jit"));
}

// The setting belongs to the program that is compiled, not to the function.
TEST_P(Partitioners, AnotherSettingCompilesAgain) {
  const Array x = drawn(7, {8, 2});
  const auto divided = ts::jit([](Array a) { return ts::sum(a, 0); },
                               {.mesh = mesh, .in_shardings = {P("data")}, .out_shardings = P()});
  const Array before = divided(x);
  ts::set_partitioner(platforms() ? ts::Partitioner::tessera : ts::Partitioner::platform);
  const std::string text = divided.lower(x).schedule();
  EXPECT_EQ(text.find("manual_computation") == std::string::npos, !platforms());
  EXPECT_LE(apart(divided(x), ts::device_get(before)), 1e-14);
}

// Plans and lists of collectives are those of our partitioner, whoever divides the program.
TEST_P(Partitioners, PlansAreOfOurProgram) {
  const auto divided = ts::jit([](Array a) { return ts::sum(a, 0); },
                               {.mesh = mesh, .in_shardings = {P("data")}, .out_shardings = P()});
  const auto lowered = divided.lower(ts::abstract(ts::f64, {8, 2}));
  const std::vector<ts::CollectiveUse> uses = lowered.collectives();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(ts::to_string(uses[0]), "psum over 'data': 16 bytes");
  EXPECT_NE(lowered.partitioned().find("psum"), std::string::npos) << lowered.partitioned();
  EXPECT_EQ(lowered.plan().moved_bytes, 16);
}

INSTANTIATE_TEST_SUITE_P(All, Partitioners,
                         testing::Values(ts::Partitioner::tessera, ts::Partitioner::platform),
                         [](const auto& info) {
                           return info.param == ts::Partitioner::tessera ? "ours" : "platforms";
                         });
