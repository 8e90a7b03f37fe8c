// The number of bytes that justify a phase of their own is an option of compilation. It changes the
// order of the steps, and programs compiled with different values are different executables.
#include "codegen/tape/planner.h"
#include "runtime/executable.h"
#include "runtime/programs.h"

namespace {

using namespace rt;
namespace ops = ts::ops;

// The second sum depends on work that the first one does not need.
const Sharded& two_sums() {
  static const Sharded s({{"i"}, {2}}, {ts::Type(ts::f32, {64})}, {"i"}, {"", ""},
                         [](ts::Builder&, const ts::Values& v) {
                           const ts::Value first = ops::psum(v[0], {"i"}, 2);
                           return ts::Values{first, ops::psum(ops::exp(v[0]), {"i"}, 2)};
                         });
  return s;
}

// For each phase, whether it consists of collectives.
std::vector<bool> phases(std::int64_t bytes_worth_a_phase) {
  ts::tape::TapeOptions options;
  options.bytes_worth_a_phase = bytes_worth_a_phase;
  const auto tape = ts::tape::make_tape(*two_sums().whole(), options);
  std::vector<bool> collective;
  for (const ts::tape::Phase& phase : tape->phases) collective.push_back(phase.collective);
  return collective;
}

}  // namespace

TEST(PhaseBytes, SmallSumsShareAPhaseUnlessNoBytesMayWait) {
  EXPECT_EQ(phases(1 << 20), (std::vector<bool>{false, true}));
  EXPECT_EQ(phases(0), (std::vector<bool>{true, false, true}));
}

TEST(PhaseBytes, CompiledProgramsAreKnownByThem) {
  const ts::ProgramPtr p = two_sums().whole();
  const auto usual = compile(p);
  EXPECT_EQ(compile(p), usual);
  {
    const PhaseBytes none(0);
    const auto split = compile(p);
    EXPECT_NE(split, usual);
    EXPECT_EQ(compile(p), split);
    EXPECT_EQ(split->options().bytes_worth_a_phase, 0);
  }
  EXPECT_EQ(compile(p), usual);
}
