// The planner's passes go through transform/pass.h: they are named, timed, and left out if the
// environment says so.
#include "codegen/tape/planner.h"
#include "ir/builder.h"
#include "ops/build.h"
#include "transform/pass.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

using namespace tessera;

namespace {

/// Twice the operand with its last element replaced, and the sines of the original elements.
ProgramPtr example() {
  Builder b("example");
  Value x = b.input(Type(DType::float32, {8192})), last = ops::scalar(b, DType::int32, 8191);
  Value twice = ops::add(x, x);
  const Value starts[] = {last};
  Value one = ops::broadcast_in_dim(ops::scalar(b, DType::float32, 1), {1}, {});
  const Values results = {ops::dynamic_update_slice(twice, one, starts),
                          ops::sin(ops::sub(x, twice))};
  return b.finish(results);
}

std::string planned(const char* without = "") {
  setenv("TESSERA_DISABLE_PASSES", without, 1);
  std::string text = to_string(*tape::make_tape(*example(), {}));
  unsetenv("TESSERA_DISABLE_PASSES");
  return text;
}

std::map<std::string, std::int64_t> runs() {
  std::map<std::string, std::int64_t> all;
  for (const PassTime& t : pass_times()) all[t.name] = t.runs;
  return all;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(PlannerPasses, AreTimedOnceALevel) {
  auto before = runs();
  planned();
  auto after = runs();
  for (std::string_view pass : tape::tape_passes())
    EXPECT_EQ(after[std::string(pass)], before[std::string(pass)] + 1) << pass;
}

// A number that is weak outside of a body has the type that the body gives it inside.
TEST(PlannerPasses, BodiesOfWeakOperandsAreTypedAsTheyAre) {
  Builder body("body");
  const Value re = body.input(Type(DType::float32, {}));
  const ProgramPtr made = body.finish(Values{ops::complex(re, re)});
  Builder b;
  const Value x = ops::convert(b.input(Type(DType::float32, {})), DType::float32, true);
  ASSERT_TRUE(x.type().weak);
  const Value in[] = {x};
  const std::string text = to_string(*tape::make_tape(*b.finish(ops::remat(b, made, in)), {}));
  EXPECT_TRUE(has(text, "complex")) << text;
}

TEST(PlannerPasses, WithoutFusionEveryEquationIsAStep) {
  EXPECT_TRUE(has(planned(), "sub+sin"));
  auto before = runs();
  const std::string alone = planned("fuse");
  EXPECT_FALSE(has(alone, "+")) << alone;
  for (const char* step : {"kernel add", "kernel sub", "kernel sin"})
    EXPECT_TRUE(has(alone, step)) << alone;
  EXPECT_EQ(runs()["fuse"], before["fuse"]);
}

TEST(PlannerPasses, WithoutUpdatesNothingIsWrittenOver) {
  EXPECT_TRUE(has(planned(), " over %"));
  EXPECT_FALSE(has(planned("updates"), " over %"));
}
