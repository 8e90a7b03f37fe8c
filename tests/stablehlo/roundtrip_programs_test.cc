// import(export(p)) gives the bits of p, on the evaluator and compiled, for programs drawn from the
// whole space of every op and for programs as users write them.
#include "stablehlo/roundtrip.h"

#include "ops/drawn_program.h"
#include "ops/registry_values.h"
#include "random/shrink.h"
#include "stablehlo/whole_programs.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

using namespace tessera;

walk::Arrays draw_inputs(const Program& p) {
  std::mt19937 random(7);
  walk::Arrays in;
  for (const Type& t : p.input_types())
    in.push_back(walk::draw(t, random, -3, 3, is_unsigned_integer(t.dtype) ? 0 : -3, 6));
  return in;
}

std::string difference(const walk::Arrays& got, const walk::Arrays& want) {
  if (got.size() != want.size()) return "another number of results";
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i].dtype != want[i].dtype || got[i].shape != want[i].shape ||
        std::memcmp(got[i].bytes, want[i].bytes, static_cast<std::size_t>(want[i].size_bytes())))
      return "result " + std::to_string(i) + " differs";
  return {};
}

std::string wrong(const walk::Tape& tape) {
  ProgramPtr p;
  std::string text;
  try {
    walk::Dice dice(tape);
    p = walk::draw_program(dice);
    text = roundtrip::text_of(*p);
    const stablehlo::Imported back = roundtrip::read(text);
    const walk::Arrays in = draw_inputs(*p);
    walk::Arrays with_constants = in;
    for (const Literal& l : back.constants) with_constants.push_back(HostArray::from(l));
    const std::string found = difference(evaluate(*back.program, with_constants), evaluate(*p, in));
    return found.empty() ? found : found + "\n" + to_string(*p) + text + to_string(*back.program);
  } catch (const std::exception& e) {
    return std::string(e.what()) + "\n" + (p ? to_string(*p) : "while it was made") + text;
  }
}

TEST(RoundTripPrograms, DrawnOnesGiveTheSameBits) { check::check_many(300, 60, wrong); }

TEST(RoundTripPrograms, WholeOnesGiveTheSameBitsCompiled) {
  const std::vector<whole::Case> cases = whole::cases();
  EXPECT_GE(cases.size(), 9u);
  for (const whole::Case& c : cases) {
    const LoadedFunction f = load_stablehlo_text(c.text);
    ASSERT_EQ(f.inputs().size(), c.arguments.size()) << c.name;
    EXPECT_EQ(f.inputs()[0].name, "args[0]") << c.name;
    walk::Arrays got;
    for (const Array& y : f(c.arguments)) got.push_back(whole::bytes_of(y));
    EXPECT_EQ(difference(got, c.out), "") << c.name << "\n" << c.text;
  }
}

}  // namespace
