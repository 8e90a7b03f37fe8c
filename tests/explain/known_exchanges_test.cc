// The collectives of functions that users write, and how many exchanges they take: gradients of a
// batch, the loss over a sharded vocabulary, and random numbers.
#include "isolated.h"
#include "quick.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace ts = tessera;
using quick::Layer;
using ts::Array;
using ts::none;
using ts::P;
using Texts = std::vector<std::string>;

namespace {

// The number of collectives in each phase of a schedule that has any.
std::vector<std::size_t> exchanges(const std::string& schedule) {
  std::vector<std::size_t> all;
  bool fresh = true;
  std::istringstream lines(schedule);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" phase ") != std::string::npos) fresh = true;
    if (line.find("collective ") == std::string::npos) continue;
    if (fresh) all.push_back(0);
    fresh = false;
    ++all.back();
  }
  return all;
}

// The collectives of each value, even if several values travel in one.
Texts listed(const ts::Plan& plan) {
  Texts all;
  for (const ts::PlannedCollective& c : plan.collectives)
    for (const ts::PlannedValue& v : c.values)
      all.push_back(c.kind + " " + std::to_string(v.bytes));
  return all;
}

}  // namespace

// A binary search reads the sorted array in every iteration, so the array is gathered before the
// loop.
TEST(KnownExchanges, WhatALoopGathersOfItsConstantsIsGatheredOnce) {
  ts::set_device_count(8);
  const ts::Mesh mesh({{"x", 8}});
  const Array sorted = ts::arange(4096.0) * 2, wanted = ts::arange(4096.0) * 3 - 5;
  const auto search = [](Array x, Array v) { return ts::searchsorted(x, v); };
  auto f = ts::jit(search, {.mesh = mesh, .in_shardings = P("x"), .out_shardings = P("x")});
  const ts::Plan plan = f.lower(sorted, wanted).plan(quick::options());
  EXPECT_EQ(listed(plan), Texts{"all_gather 14336"});
  EXPECT_EQ(plan.collectives.at(0).times, 1);
  EXPECT_EQ(f(sorted, wanted).to_vector<std::int32_t>(),
            search(sorted, wanted).to_vector<std::int32_t>());
}

// Each gradient is a separate sum, and all are exchanged at once: as many bytes as there are in the
// parameters.
TEST(KnownExchanges, GradientsOfABatchAreOneExchange) {
  ts::set_device_count(4);
  const ts::Mesh mesh({{"data", 4}});
  const auto step = [](std::vector<Layer> m, Array x) {
    auto [value, g] = ts::value_and_grad([](const std::vector<Layer>& p, Array in) {
      for (const Layer& l : p) in = ts::tanh(ts::dot(in, l.w) + l.b);
      return ts::sum(in);
    })(m, x);
    return g;
  };
  const std::vector<Layer> m(3, {ts::ones({8, 8}), ts::ones({8})});
  const Array x = ts::ones({16, 8});
  const auto f =
      ts::jit(step, {.mesh = mesh, .in_shardings = {P(), P("data")}, .out_shardings = P()});
  const auto lowered = f.lower(m, x);
  const ts::Plan plan = lowered.plan(quick::options());
  std::int64_t bytes = 0;
  for (const ts::PlannedCollective& c : plan.collectives) {
    EXPECT_EQ(c.kind, "all_reduce");
    bytes += c.bytes;
  }
  ASSERT_EQ(plan.collectives.size(), 1u);
  EXPECT_EQ(plan.collectives[0].values.size(), 6u);
  EXPECT_EQ(bytes, 3 * (8 * 8 + 8) * 4 * 2 * 3 / 4);
  if (test::isolated()) {
    EXPECT_EQ(exchanges(lowered.schedule()), (std::vector<std::size_t>{6}));
  }
}

// The collectives are the greatest logit, the sum of exponentials, and the label's logit together
// with the values that are summed with it; in a mean these are one number.
TEST(KnownExchanges, ALossOverAVocabularyInParts) {
  ts::set_device_count(4);
  const ts::Mesh mesh({{"x", 4}});
  for (bool mean : {false, true}) {
    const auto loss = [=](Array h, Array w, Array labels) {
      const Array logits =
          ts::with_sharding_constraint(ts::dot(h, w), ts::Sharding(mesh, P(none, "x")));
      const Array rows = ts::nn::softmax_cross_entropy_with_integer_labels(logits, labels);
      return mean ? ts::mean(rows) : rows;
    };
    const Array h = ts::random::normal(ts::random::key(1), {6, 8}),
                w = ts::random::normal(ts::random::key(2), {8, 11}),
                labels = ts::array({0, 2, 3, 8, 9, 10});
    const auto f =
        ts::jit(loss, {.mesh = mesh, .in_shardings = {P(), P(), P()}, .out_shardings = P()});
    EXPECT_EQ(listed(f.lower(h, w, labels).plan(quick::options())),
              (Texts{"all_reduce 36", "all_reduce 36", mean ? "all_reduce 6" : "all_reduce 36"}));
    Array want = ts::nn::softmax_cross_entropy_with_integer_labels(ts::dot(h, w), labels);
    if (mean) want = ts::mean(want);
    const Array got = ts::device_get(f(h, w, labels));
    EXPECT_LE(ts::max(ts::abs(got - want)).item<double>(), 1e-5);
  }
}

TEST(KnownExchanges, RandomNumbersAreThoseOfOneDevice) {
  ts::set_device_count(6);
  const ts::Mesh mesh({{"x", 2}, {"y", 3}});
  const auto drawn = [=](Array key, bool cut) {
    const auto lies = [&](Array a, const ts::PartitionSpec& spec) {
      return cut ? ts::with_sharding_constraint(a, ts::Sharding(mesh, spec)) : a;
    };
    return std::vector<Array>{lies(ts::random::bits(key, {7, 5}), P("x", "y")),
                              lies(ts::random::uniform(key, {7, 5}), P("x", "y")),
                              lies(ts::random::normal(key, {7, 5}), P("x", "y")),
                              lies(ts::random::permutation(key, 35), P("x"))};
  };
  const Array key = ts::random::key(5);
  const auto f = ts::jit([=](Array k) { return drawn(k, true); },
                         {.mesh = mesh, .in_shardings = {P()}, .out_shardings = P()});
  const std::vector<Array> got = f(key),
                           want = ts::jit([=](Array k) { return drawn(k, false); })(key);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(ts::all(ts::device_get(got[i]) == want[i]).item<bool>()) << i;
  // Numbers are drawn where they are stored. Only results are gathered, and arrays that are sorted.
  for (const ts::PlannedCollective& c : f.lower(key).plan(quick::options()).collectives)
    EXPECT_TRUE(c.op == "sharding_constraint" || c.op == "sort") << c.op;
}
