// Names of parts of a computation, and where they are shown.
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/debug.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/profile.h>
#include <tessera/vmap.h>

#include "message.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace ts = tessera;
using test::message;
using ts::Array;

namespace {

Array layered(Array x) {
  const auto model = ts::named_scope("model");
  {
    const auto layer = ts::named_scope("layer_0");
    x = ts::sin(x);
  }
  return ts::cumsum(x) + 1;
}

TEST(NamedScope, IsInPrintedPrograms) {
  const std::string text = ts::make_ir(layered)(ts::ones({3}));
  EXPECT_NE(text.find("# in \"model/layer_0\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# in model\n"), std::string::npos) << text;
  const std::string none = ts::make_ir([](Array x) { return ts::sin(x); })(ts::ones({3}));
  EXPECT_EQ(none.find('#'), std::string::npos) << none;
}

TEST(NamedScope, StaysThroughTransformations) {
  const auto loss = [](Array x) { return ts::sum(layered(x)); };
  const std::string text = ts::make_ir([&](Array x) {
    const auto outer = ts::named_scope("step");
    return ts::vmap(ts::grad(loss))(x);
  })(ts::ones({2, 3}));
  EXPECT_NE(text.find("step/model/layer_0"), std::string::npos) << text;
}

TEST(NamedScope, IsInProfiles) {
  NEEDS_CPU(schedules);
  const std::string path =
      testing::TempDir() + "/named_scope_profile_" + std::to_string(::getpid()) + ".json";
  {
    const auto profile = ts::profile(path);
    ts::jit(layered)(ts::ones({7})).block_until_ready();
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_NE(text.str().find("\"model/"), std::string::npos) << text.str();
  std::remove(path.c_str());
}

TEST(NamedScope, IsInErrorsOfItsBlockOnly) {
  const auto mistake = [] { ts::dot(ts::ones({2, 3}), ts::ones({2, 3})); };
  const std::string inside = message([&] {
    const auto a = ts::named_scope("attention");
    const auto b = ts::named_scope("scores");
    mistake();
  });
  EXPECT_NE(inside.find("\n  in: attention/scores\n"), std::string::npos) << inside;
  EXPECT_EQ(message(mistake).find("  in: "), std::string::npos);
  EXPECT_NE(message([] { const auto scope = ts::named_scope(""); }).find("the name is empty"),
            std::string::npos);
}

// Names do not change the bits of results.
TEST(NamedScope, ChangesNoResult) {
  const auto plain = [](Array x) { return ts::cumsum(ts::sin(x)) + 1; };
  const Array x = ts::arange(9).astype(ts::f32);
  EXPECT_EQ(ts::jit(layered)(x).to_vector<float>(), ts::jit(plain)(x).to_vector<float>());
}

}  // namespace
