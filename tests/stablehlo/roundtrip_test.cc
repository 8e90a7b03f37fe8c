// import(export(p)) is p, for the examples of every op.
#include "stablehlo/roundtrip.h"

#include "ops/registry_values.h"
#include "ops/registry_walk.h"
#include "stablehlo/emit/emission.h"

#include <tessera/error.h>

#include <cstring>
#include <set>

namespace {

using namespace tessera;

// Collectives are inside regions over devices, and are tested there.
bool needs_devices(const Op& op) {
  return op.lowering == Lowering::collective || op.name == "pvary";
}

// Ops that are read back as other equations with the same bits.
const std::set<std::string>& as_others() {
  static const auto* const names = new std::set<std::string>{
      "concatenate",  // of one array: becomes the array
      "convert",      // of a complex number to a boolean: becomes a comparison with 0
      "reduce_max",   // of booleans: becomes an or
      "reduce_min",   // becomes an and
      "shard_map",    // without types: gets them
  };
  return *names;
}

// The number of devices of the meshes in the examples of constraints.
constexpr std::int64_t kDevices = 6;

class RoundTrip : public testing::TestWithParam<std::string> {
 protected:
  const Op& op = Registry::get().at(GetParam());
};

void expect_same(const walk::Arrays& got, const walk::Arrays& want, const std::string& text) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].dtype, want[i].dtype) << text;
    ASSERT_EQ(got[i].shape, want[i].shape) << text;
    EXPECT_EQ(
        std::memcmp(got[i].bytes, want[i].bytes, static_cast<std::size_t>(want[i].size_bytes())), 0)
        << "result " << i << "\n"
        << text;
  }
}

TEST_P(RoundTrip, EveryOpHasAnEmissionOrAReason) {
  const stablehlo::Emission* e = stablehlo::emission_of(op);
  if (!e) {
    EXPECT_EQ(op.lowering, Lowering::expanded) << "nothing writes it";
    return;
  }
  if (e->never) {
    EXPECT_TRUE(!e->plain && !e->decomposed);
    return;
  }
  EXPECT_TRUE(e->plain || e->decomposed);
  EXPECT_EQ(bool(e->composite), e->plain && e->decomposed);
}

TEST_P(RoundTrip, ExamplesComeBack) {
  const stablehlo::Emission* e = stablehlo::emission_of(op);
  if ((e && e->never) || needs_devices(op)) {
    for (const OpExample& example : op.examples()) {
      const bool as_it_is = e && e->plain && op.lowering != Lowering::collective;  // pvary
      if (as_it_is) continue;
      try {
        roundtrip::text_of(*walk::program_of(op, example));
        ADD_FAILURE() << "it is written outside of a region";
      } catch (const TraceError& error) {
        EXPECT_NE(std::string(error.what()).find("\n  rule: "), std::string::npos) << error.what();
      }
    }
    return;
  }
  walk::Random random(7);
  for (const OpExample& example : op.examples()) {
    const ProgramPtr p = walk::program_of(op, example);
    const std::string text = roundtrip::text_of(*p);
    stablehlo::Imported back;
    ASSERT_NO_THROW(
        try { back = roundtrip::read(text, kDevices); } catch (const Error& error) {
          std::cout << error.what() << "\n" << text;
          throw;
        });
    ASSERT_TRUE(back.constants.empty()) << text;
    const ProgramPtr want = roundtrip::canonical(p), got = roundtrip::canonical(back.program);
    if (!as_others().contains(op.name)) {
      EXPECT_TRUE(same_structure(*want, *got)) << to_string(*want) << to_string(*got) << text;
    }
    walk::Arrays in;
    for (const Type& t : example.inputs)
      in.push_back(walk::draw(t, random, example.lo, example.hi, example.int_lo, example.int_hi));
    expect_same(evaluate(*back.program, in), evaluate(*p, in), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, RoundTrip, testing::ValuesIn(walk::op_names()), walk::test_name);

}  // namespace
