// How programs are divided between a platform and the host.
#include "platforms/parts.h"

#include "ir/op.h"
#include "runtime/programs.h"
#include "stablehlo/emit/target.h"

#include <gtest/gtest.h>

namespace ts = tessera;
namespace ops = tessera::ops;
namespace platforms = tessera::platforms;

namespace {

constexpr ts::stablehlo::Target kBare{.platform = "plug-in"};
const ts::Type kMatrix(ts::f32, {3, 3});

std::vector<ts::HostArray> run_parts(const ts::ProgramPtr& p,
                                     const std::vector<platforms::Part>& parts,
                                     const std::vector<ts::HostArray>& inputs) {
  std::map<ts::Var, ts::HostArray> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values.emplace(p->inputs[i], inputs[i]);
  for (const platforms::Part& part : parts) {
    std::vector<ts::HostArray> in;
    for (const ts::Var v : part.inputs) in.push_back(values.at(v));
    const std::vector<ts::HostArray> out = ts::evaluate(*part.program, in);
    for (std::size_t k = 0; k < out.size(); ++k) values.emplace(part.outputs[k], out[k]);
  }
  std::vector<ts::HostArray> out;
  for (const ts::Var v : p->outputs) out.push_back(values.at(v));
  return out;
}

std::string places(const std::vector<platforms::Part>& parts) {
  std::string text;
  for (const platforms::Part& part : parts) text += part.on_host ? "h" : "p";
  return text;
}

}  // namespace

TEST(Parts, WhatThePlatformCanRunIsOnePart) {
  const auto p = rt::program({kMatrix}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::add(v[0], v[0]), ops::neg(v[0])};
  });
  const auto parts = platforms::parts_of(p, kBare);
  EXPECT_EQ(places(parts), "p");
  EXPECT_EQ(parts[0].program, p);
}

// Of results that are arguments or occur twice, a part makes each value once.
TEST(Parts, MakeEachResultOnce) {
  const auto p = rt::program({kMatrix}, [](ts::Builder&, ts::Values v) {
    const ts::Value twice = ops::add(v[0], v[0]);
    return ts::Values{twice, v[0], twice};
  });
  const auto parts = platforms::parts_of(p, kBare);
  ASSERT_EQ(places(parts), "p");
  EXPECT_EQ(parts[0].outputs.size(), 1u);
  const ts::HostArray x = rt::counted(kMatrix);
  const auto expected = ts::evaluate(*p, std::vector{x}), got = run_parts(p, parts, {x});
  for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(rt::same_bits(got[k], expected[k])) << k;
}

TEST(Parts, FactorisationsWithoutALibraryAreTheHosts) {
  const auto p = rt::program({kMatrix}, [](ts::Builder& b, ts::Values v) {
    const ts::Value before = ops::add(v[0], v[0]);
    const ts::Values factors = b.emit("lu", std::vector{before});
    const ts::Value after = ops::neg(factors[0]), aside = ops::neg(v[0]);
    return ts::Values{after, aside, factors[1]};
  });
  const auto parts = platforms::parts_of(p, kBare);
  EXPECT_EQ(places(parts), "php");
  EXPECT_EQ(parts[1].program->equations.size(), 1u);
  const ts::HostArray x = rt::counted(kMatrix);
  const auto expected = ts::evaluate(*p, std::vector{x}), got = run_parts(p, parts, {x});
  for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(rt::same_bits(got[k], expected[k])) << k;
  // A platform whose libraries have it needs no host.
  EXPECT_EQ(places(platforms::parts_of(p, *ts::stablehlo::find_target("tpu"))), "p");
}
