#include <tessera/checkpoint.h>
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/reductions.h>
#include <tessera/remat.h>
#include <tessera/vmap.h>

#include <gtest/gtest.h>

#include "api/check.h"

namespace ts = tessera;
using namespace api_test;

namespace {

Array deep(Array x, Array w) {
  for (int i = 0; i < 4; ++i) x = ts::checkpoint_name(ts::sin(ts::dot(x, w)), "layer");
  return x;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(Checkpoint, ChangesNoBit) {
  Array x = mat({0.1f, 0.2f, 0.3f, 0.4f}, {2, 2}), w = mat({0.5f, -0.25f, 0.75f, 1.f}, {2, 2});
  auto loss = [](auto f) { return [f](Array x, Array w) { return ts::sum(f(x, w)); }; };
  auto [value, grads] = ts::value_and_grad<0, 1>(loss(deep))(x, w);
  for (const auto& policy :
       {ts::policies::nothing_saveable(), ts::policies::everything_saveable(),
        ts::policies::dots_saveable(), ts::policies::dots_with_no_batch_dims_saveable(),
        ts::policies::save_only_these_names({"layer"}),
        ts::policies::save_any_names_but_these({"layer"})}) {
    auto f = ts::remat(deep, {.policy = policy});
    EXPECT_TRUE(ts::tree::equal(f(x, w), deep(x, w)));
    auto [v, g] = ts::value_and_grad<0, 1>(loss(f))(x, w);
    EXPECT_TRUE(ts::tree::equal(v, value));
    EXPECT_TRUE(ts::tree::equal(g, grads));
    EXPECT_TRUE(ts::tree::equal(ts::jit(ts::grad<0, 1>(loss(f)))(x, w), grads));
  }
}

TEST(Checkpoint, KeepsLessForTheBackwardPass) {
  Array x = mat({0.1f, 0.2f, 0.3f, 0.4f}, {2, 2}), w = mat({0.5f, -0.25f, 0.75f, 1.f}, {2, 2});
  auto ir = [&](const ts::RematPolicyPtr& policy) {
    auto f = ts::remat(deep, {.policy = policy});
    return ts::make_ir(ts::grad([f](Array x, Array w) { return ts::sum(f(x, w)); }))(x, w);
  };
  // There are four sines forward. The backward pass computes the first three again unless they may
  // be saved.
  const std::size_t none = count(ir(ts::policies::nothing_saveable()), "= sin ");
  const std::size_t all = count(ir(ts::policies::everything_saveable()), "= sin ");
  const std::size_t named = count(ir(ts::policies::save_only_these_names({"layer"})), "= sin ");
  EXPECT_GT(none, all);
  EXPECT_GT(none, named);
}

TEST(Checkpoint, InsideScanAndVmap) {
  auto step = ts::remat([](Array c, Array x) { return std::pair(ts::sin(c * x), c); });
  auto plain = [](Array c, Array x) { return std::pair(ts::sin(c * x), c); };
  auto run = [](auto f) { return [f](Array xs) { return ts::scan(f, Array(1.0f), xs).first; }; };
  Array xs = vec({0.3f, 0.6f, 0.9f});
  EXPECT_TRUE(ts::tree::equal(ts::grad(run(step))(xs), ts::grad(run(plain))(xs)));
  Array rows = mat({0.3f, 0.6f, 0.9f, 1, 2, 3}, {2, 3});
  EXPECT_TRUE(
      ts::tree::equal(ts::vmap(ts::grad(run(step)))(rows), ts::vmap(ts::grad(run(plain)))(rows)));
}

// Programs that use the former name compile with a warning and compute the same bits.
TEST(Checkpoint, TheFormerNameIsRemat) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const auto former = ts::checkpoint([](Array x) { return ts::sum(ts::sin(x) * x); });
#pragma GCC diagnostic pop
  const auto present = ts::remat([](Array x) { return ts::sum(ts::sin(x) * x); });
  const Array x = vec({0.3f, 0.6f, 0.9f});
  EXPECT_TRUE(ts::tree::equal(ts::grad(former)(x), ts::grad(present)(x)));
}

}  // namespace
