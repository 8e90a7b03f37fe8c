// The values that a TESSERA_ variable takes, and the messages about all others. Each case is a
// separate process, because settings are read at the first computation.
#include "life/spawn.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

std::string said(const std::vector<std::string>& environment) {
  const life::Ended e = life::run({"settings"}, environment);
  EXPECT_EQ(e.code, 7) << e;
  return e.out;
}
std::string twice(const std::string& text) { return text + text; }

}  // namespace

TEST(Settings, ThatAreNoSuchThingAreAnErrorEachTime) {
  EXPECT_EQ(said({"TESSERA_DEVICES=4x"}), twice("TESSERA_DEVICES: '4x' is no integer\n"
                                                "  rule: an integer from 1 to 4096\n"
                                                "  try: TESSERA_DEVICES=4 in the environment\n"));
  EXPECT_EQ(said({"TESSERA_DEVICES=0"}), twice("TESSERA_DEVICES: '0' is too small\n"
                                               "  rule: an integer from 1 to 4096\n"
                                               "  try: TESSERA_DEVICES=4 in the environment\n"));
  EXPECT_EQ(said({"TESSERA_WORKERS=99999999999999999999"}),
            twice("TESSERA_WORKERS: '99999999999999999999' is no integer\n"
                  "  rule: an integer from 1 to 1024\n"
                  "  try: TESSERA_WORKERS=2 in the environment\n"));
  EXPECT_EQ(said({"TESSERA_ISA=foo"}), twice("TESSERA_ISA: 'foo' is none of its values\n"
                                             "  rule: amx, avx512, avx2, sse4 or amx_emulated\n"
                                             "  try: TESSERA_ISA=avx2 in the environment\n"));
  EXPECT_EQ(said({"TESSERA_CACHE_MB=abc"}),
            twice("TESSERA_CACHE_MB: 'abc' is no integer\n"
                  "  rule: an integer from 0 to 1099511627776\n"
                  "  try: TESSERA_CACHE_MB=256 in the environment\n"));
  EXPECT_EQ(said({"TESSERA_CACHE=of"}), twice("TESSERA_CACHE: 'of' is none of its values\n"
                                              "  rule: on, off, 1 or 0\n"
                                              "  try: TESSERA_CACHE=off in the environment\n"));
  EXPECT_EQ(said({"TESSERA_ISOLATE=yes"}), twice("TESSERA_ISOLATE: 'yes' is neither 0 nor 1\n"
                                                 "  rule: 0 or 1\n"
                                                 "  try: TESSERA_ISOLATE=1 in the environment\n"));
  EXPECT_EQ(
      said({"TESSERA_DISABLE_PASSES=cse,unroll"}),
      twice(
          "TESSERA_DISABLE_PASSES: 'cse,unroll' is not a list of its names: there is no 'unroll'\n"
          "  rule: names with commas between them, of cancel, fold, join_slices, ends, decompose, "
          "small_branches, hoist, cse, dead_code, joint_products, operands, updates, fuse, "
          "stretches, nests, panels or forms\n"
          "  try: TESSERA_DISABLE_PASSES=cse,fold in the environment\n"));
}

TEST(Settings, SeveralMistakesAreListedTogether) {
  EXPECT_EQ(said({"TESSERA_DEVICES=-1", "TESSERA_SYNC=on"}),
            twice("environment: 2 variables are set to what they do not take\n"
                  "  - TESSERA_DEVICES='-1' is too small: it takes an integer from 1 to 4096\n"
                  "  - TESSERA_SYNC='on' is neither 0 nor 1: it takes 0 or 1\n"
                  "  rule: every TESSERA_ variable is read before the first computation\n"
                  "  try: unset them, or see docs/debugging.md for what each does\n"));
}

TEST(Settings, NamesThatAreNearlyOursAreWarnedOf) {
  EXPECT_EQ(said({"TESSERA_DEVICE=3", "TESSERA_DEVICES=2"}),
            "warning: environment: there is no setting TESSERA_DEVICE\n"
            "  rule: unknown settings are ignored\n"
            "  try: TESSERA_DEVICES=4 is one\n" +
                twice("2 devices\n"));
}

TEST(Settings, NamesOfOthersAndEmptyValuesAreLeftAlone) {
  EXPECT_EQ(said({"TESSERA_SOMETHING_OF_MINE=x", "TESSERA_ISA=", "TESSERA_DEVICES=3"}),
            twice("3 devices\n"));
}

TEST(Settings, EveryVariableWorksAtItsExample) {
  EXPECT_EQ(said({"TESSERA_DEVICES=4",
                  "TESSERA_PLATFORM=cpu",
                  "TESSERA_PLATFORM_OPTIONS=preallocate=false",
                  "TESSERA_EAGER=gathered",
                  "TESSERA_WORKERS=2",
                  "TESSERA_ISOLATE=1",
                  "TESSERA_SYNC=1",
                  "TESSERA_POISON=1",
                  "TESSERA_CHECK_CAPTURES=1",
                  "TESSERA_DISABLE_PASSES=cse,fold",
                  "TESSERA_DUMP_LOOPS=0",
                  "TESSERA_UNOPTIMIZED=1",
                  "TESSERA_ISA=avx2",
                  "TESSERA_APART=1",
                  "TESSERA_TRANSPORT=none",
                  "TESSERA_COMPARE=all",
                  "TESSERA_LOG=progress",
                  "TESSERA_GATHER_READS=0",
                  "TESSERA_FLUSH_DENORMAL=1",
                  "TESSERA_CACHE=off",
                  "TESSERA_CACHE_DIR=/tmp/kernels",
                  "TESSERA_CACHE_MB=256",
                  "TESSERA_PROGRAM_CACHE_MB=512",
                  "TESSERA_OPERAND_CACHE_MB=4096"}),
            twice("4 devices\n"));
  EXPECT_EQ(said({"TESSERA_EVALUATE=1", "TESSERA_DEVICES=4"}), twice("4 devices\n"));
}
