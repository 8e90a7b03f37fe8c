// Chains of a product, kernels on its rows and products that read the rows, such as attention:
// against the program without the pass, to the bit, and what they keep in memory.
#include "base/machine.h"
#include "panel_programs.h"
#include "random/shrink.h"
#include "runtime/programs.h"
#include "stablehlo/roundtrip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

using namespace panels;

namespace {

struct Form {
  std::int64_t batch = 1, heads = 2, group = 1, queries = 64, keys = 96, width = 16;
  DType dtype = DType::float32;
  bool heads_inside = false;  // (batch, time, heads, width) instead of (batch, heads, time, width)
  bool values_first = false;  // the rows are the right operand of the second product
  bool causal = false, bias = false, scaled = true;
  bool rounded = false;  // the rows and the values are bfloat16
  bool shares = false;   // the rows are a result as well
  Ints order = {};       // of the dimensions of the result, if they are put into another one
  bool sums = false;     // the second product sums over the rows, instead of along them
};

struct Attention {
  Form f;
  std::int64_t rows() const { return f.group * f.queries; }

  // The types of queries, keys, values and bias.
  std::vector<Type> types() const {
    const auto of = [&](DType dtype, std::int64_t time) {
      return f.heads_inside ? Type(dtype, Ints{f.batch, time, f.heads, f.width})
                            : Type(dtype, Ints{f.batch, f.heads, time, f.width});
    };
    std::vector<Type> types{of(f.dtype, rows()), of(f.dtype, f.keys),
                            of(f.rounded ? DType::bfloat16 : f.dtype, f.sums ? rows() : f.keys)};
    if (f.bias) types.push_back(Type(f.dtype, Ints{f.heads, rows(), f.keys}));
    return types;
  }

  Values emit(Builder& b, const Values& in) const {
    const Ints batch = f.heads_inside ? Ints{0, 2} : Ints{0, 1};
    const std::int64_t time = f.heads_inside ? 1 : 2;
    ops::DotDims scores;
    scores.lhs_batch = scores.rhs_batch = batch;
    scores.lhs_contracting = scores.rhs_contracting = {3};
    Value z = ops::dot_general(in[0], in[1], scores);
    const Shape shape = z.type().shape;
    if (f.scaled) z = ops::mul(z, ops::full_like(z, 0.25));
    if (f.bias) z = ops::add(z, ops::broadcast_in_dim(in[3], shape.to_vector(), {1, 2, 3}));
    if (f.causal) {
      // Rows of a group see the keys up to their own time.
      const Ints square{rows(), f.keys};
      Value time_of_row = ops::iota(b, DType::int32, square, 0);
      time_of_row =
          ops::rem(time_of_row, ops::full_like(time_of_row, static_cast<double>(f.queries)));
      const Value open = ops::ge(time_of_row, ops::iota(b, DType::int32, square, 1));
      z = ops::select(ops::broadcast_in_dim(open, shape.to_vector(), {2, 3}), z,
                      ops::full_like(z, -1e30));
    }
    Value p = softmax(z);
    if (f.rounded) p = ops::convert(p, DType::bfloat16);
    ops::DotDims sums;
    sums.lhs_batch = {0, 1}, sums.lhs_contracting = {f.sums ? 2 : 3};
    sums.rhs_batch = batch, sums.rhs_contracting = {time};
    if (f.values_first) {
      std::swap(sums.lhs_batch, sums.rhs_batch);
      std::swap(sums.lhs_contracting, sums.rhs_contracting);
    }
    Value y = f.values_first ? ops::dot_general(in[2], p, sums) : ops::dot_general(p, in[2], sums);
    if (!f.order.empty()) y = ops::transpose(y, f.order);
    Values results{y};
    if (f.shares) results.push_back(p);
    return results;
  }

  ProgramPtr program() const {
    return rt::program(types(), [&](Builder& b, Values in) { return emit(b, in); });
  }
};

Form drawn(walk::Dice& dice) {
  Form f;
  f.dtype = dice.of(std::vector{DType::float32, DType::float32, DType::float64});
  f.batch = dice.of(walk::Ints{1, 2});
  f.heads = dice.of(walk::Ints{2, 1, 3});
  f.group = dice.of(walk::Ints{1, 1, 2, 3});
  f.queries = dice.of(walk::Ints{64, 100, 1, 5, 8, 130, 257});
  f.keys = dice.of(walk::Ints{96, 64, 130, 257, 513, 1100});
  f.width = dice.of(walk::Ints{16, 8, 5, 24, 40});
  f.heads_inside = dice.toss();
  f.values_first = dice.toss();
  f.causal = dice.toss();
  f.bias = dice.once_in(3);
  f.scaled = dice.toss();
  f.rounded = f.dtype == DType::float32 && dice.once_in(4);
  f.shares = dice.once_in(4);
  f.sums = dice.once_in(3);
  f.order = dice.of(std::vector<Ints>{{}, {0, 2, 1, 3}, {0, 3, 1, 2}, {0, 1, 3, 2}, {3, 1, 0, 2}});
  return f;
}

// Whether one step makes the scores and multiplies the values by what follows from them.
bool in_rows(const ProgramPtr& p) {
  const std::string plan = planned(p);
  const std::size_t first = plan.find("dot_general+");
  return first != std::string::npos && plan.find("+dot_general", first) < plan.find('\n', first);
}

std::string compare(const ProgramPtr& p, const walk::Arrays& inputs) {
  return check::compare_bits(check::compiled(*executable(p), inputs), apart(p, inputs), "in rows");
}

ProgramPtr module(const std::string& name) {
  std::ifstream file(TESSERA_TEST_DIR "/codegen/attention/" + name + ".mlir");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return simplify(roundtrip::read(text, 1).program);
}

}  // namespace

TEST(RowChains, AttentionKeepsItsBits) {
  int joint = 0;
  check::check_many(60, 41, [&](const walk::Tape& tape) {
    walk::Dice dice(tape);
    const ProgramPtr p = Attention{drawn(dice)}.program();
    joint += in_rows(p);
    const bool evaluate = dice.once_in(4);
    return evaluate
               ? check::problem(p, inputs_of(*p), static_cast<std::uint64_t>(dice.below(1 << 12)))
               : compare(p, inputs_of(*p));
  });
  EXPECT_GE(joint, 25);
}

// Rows of infinities and NaN, and columns of them, spread as they do without the pass.
TEST(RowChains, NotNumbersSpreadAlike) {
  for (const int form : {0, 1, 2, 3}) {
    const ProgramPtr p =
        Attention{{.queries = 100, .keys = 130, .values_first = form % 2 > 0, .sums = form >= 2}}
            .program();
    ASSERT_TRUE(in_rows(p));
    walk::Arrays inputs = inputs_of(*p);
    const double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity()};
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t i = 0; i < 3; ++i)
        inputs[k].data<float>()[(7 + 40 * i) * 16 + k] = static_cast<float>(odd[i]);
    EXPECT_EQ(compare(p, inputs), "");
  }
}

// Blocks of rows that several tasks make, with a shorter one at the end, and panels that are not
// whole blocks.
TEST(RowChains, AllWaysToCutGiveTheSame) {
  for (const auto& [batch, queries, keys, width] : {std::array<std::int64_t, 4>{1, 1500, 700, 64},
                                                    {1, 1031, 1024, 40},
                                                    {40, 33, 65, 16},
                                                    {3, 7, 2000, 64},
                                                    {30, 1, 700, 64}})
    for (const bool values_first : {false, true})
      for (const bool shares : {false, true}) {
        const ProgramPtr p = Attention{
            {.batch = batch,
             .heads = 1,
             .queries = queries,
             .keys = keys,
             .width = width,
             .values_first = values_first,
             .shares = shares}}.program();
        EXPECT_TRUE(in_rows(p)) << planned(p);
        EXPECT_EQ(compare(p, inputs_of(*p)), "")
            << batch << " x " << queries << " x " << keys << " x " << width;
      }
}

// Sums over rows begin a chunk in one panel and end it in another.
TEST(RowChains, SumsOverRowsGoOnFromPanelToPanel) {
  for (const std::int64_t queries : {100, 512, 513, 1100, 2500})
    for (const bool values_first : {false, true})
      for (const DType dtype : {DType::float32, DType::float64}) {
        const ProgramPtr p = Attention{
            {.heads = 3,
             .queries = queries,
             .keys = 150,
             .width = 24,
             .dtype = dtype,
             .values_first = values_first,
             .sums = true}}.program();
        EXPECT_TRUE(in_rows(p)) << planned(p);
        EXPECT_EQ(compare(p, inputs_of(*p)), "") << queries;
      }
}

// The gradient of a narrow last layer: the first product is one task, and the second one, which sums
// over the rows, has work for many cores.
TEST(RowChains, ProductsThatAreDividedDoNotJoinASingleTask) {
  const ProgramPtr p =
      rt::program({Type(DType::float32, {512, 10}), Type(DType::float32, {10, 128}),
                   Type(DType::float32, {512, 128}), Type(DType::float32, {512, 256})},
                  [](Builder&, Values in) {
                    ops::DotDims rows, sums;
                    rows.lhs_contracting = {1}, rows.rhs_contracting = {0};
                    sums.lhs_contracting = sums.rhs_contracting = {0};
                    const Value d = ops::mul(ops::dot_general(in[0], in[1], rows), in[2]);
                    return Values{ops::dot_general(in[3], d, sums)};
                  });
  EXPECT_FALSE(in_rows(p)) << planned(p);
  EXPECT_EQ(compare(p, inputs_of(*p)), "");
}

// Neither the scores nor what follows from them takes memory, unless something else reads it. What
// is open is computed once for all heads.
TEST(RowChains, ScoresTakeNoMemory) {
  Form f{.heads = 3, .queries = 128, .keys = 256, .width = 32, .causal = true};
  constexpr std::int64_t kScores = 3 * 128 * 256 * 4, kOpen = 128 * 256;
  const auto temporaries = [](const Form& form) {
    return tape::make_tape(*Attention{form}.program(), {})->temporaries;
  };
  EXPECT_EQ(temporaries(f), kOpen);
  f.values_first = true;
  EXPECT_EQ(temporaries(f), kOpen);
  f.order = {0, 3, 1, 2};
  EXPECT_EQ(temporaries(f), kOpen);
  f.shares = true;  // in the memory of the result
  EXPECT_EQ(temporaries(f), kOpen);
  f.shares = false;
  f.order = {};
  const check::Setting off("TESSERA_DISABLE_PASSES", "panels");
  EXPECT_EQ(temporaries(f), kOpen + 2 * kScores);
}

TEST(RowChains, DecodingIsOneStep) {
  const ProgramPtr p = module("decoding");
  EXPECT_TRUE(in_rows(p)) << planned(p);
  EXPECT_EQ(compare(p, inputs_of(*p)), "");
}

TEST(RowChains, ProgramsOfJaxKeepTheirBits) {
  for (const std::string name : {"causal", "with_bias", "grouped", "gradient", "checkpointed"}) {
    const ProgramPtr p = module(name);
    if (name != "grouped") EXPECT_TRUE(in_rows(p)) << name << planned(p);
    EXPECT_EQ(compare(p, inputs_of(*p)), "") << name;
  }
}

// A gradient keeps the exponentials and the shares from the forward pass, and only the exponentials
// if the forward pass is computed again. The gradient of the scores is not stored.
TEST(RowChains, GradientsStoreWhatTheyReadAgain) {
  const std::string scores = "(arena, " + std::to_string(3 * 100 * 96 * 4) + " B)";
  const auto stored = [&](const std::string& name) {
    const std::string plan = planned(module(name));
    int count = 0;
    for (std::size_t at = plan.find("-> "); at != std::string::npos; at = plan.find("-> ", at + 1))
      for (std::size_t here = plan.find(scores, at); here < plan.find('\n', at);
           here = plan.find(scores, here + 1))
        ++count;
    return count;
  };
  EXPECT_EQ(stored("gradient"), 2);
  EXPECT_EQ(stored("checkpointed"), 1);
  const check::Setting off("TESSERA_DISABLE_PASSES", "panels");
  EXPECT_EQ(stored("gradient"), 5);
  EXPECT_EQ(stored("checkpointed"), 7);
}

// What a sum over an axis of size 1 becomes begins with zero, as the sum does.
TEST(RowChains, SumsOfOneElementLoseTheSignOfZero) {
  const ProgramPtr p = rt::program({Type(DType::float32, Ints{3, 1})}, [](Builder&, Values in) {
    return Values{ops::reduce_sum(in[0], {1})};
  });
  HostArray x(DType::float32, Shape{3, 1});
  for (const int i : {0, 1, 2}) x.data<float>()[i] = i == 0 ? -0.0f : static_cast<float>(i - 3);
  const ProgramPtr simple = simplify(p);
  EXPECT_NE(to_string(*simple), to_string(*p));
  const walk::Arrays results = check::compiled(*executable(simple), {x});
  EXPECT_EQ(check::compare_bits(results, check::compiled(*executable(p), {x}), "as a sum"), "");
  EXPECT_FALSE(std::signbit(results[0].number(0)));
}

// Each of four devices has its own heads.
TEST(RowChains, DevicesHaveTheirOwnRows) {
  const rt::Devices devices(4);
  const Attention a{{.batch = 1, .queries = 100, .keys = 130, .causal = true}};
  std::vector<Type> wholes;
  for (const Type& t : a.types()) {
    Ints shape = t.shape.to_vector();
    shape[0] *= 4;
    wholes.emplace_back(t.dtype, shape);
  }
  rt::Sharded s(MeshShape{{"i"}, {4}}, wholes, {"i", "i", "i"}, {"i"},
                [&](Builder& b, Values in) { return a.emit(b, in); });
  const ProgramPtr p = s.whole();
  EXPECT_TRUE(in_rows(p)) << planned(p);
  EXPECT_EQ(compare(p, inputs_of(*p)), "");
  // As the heads of a batch on one device have them.
  Attention together = a;
  together.f.batch = 4;
  EXPECT_EQ(check::compare_bits(check::compiled(*executable(p), inputs_of(*p)),
                                check::compiled(*executable(together.program()), inputs_of(*p)),
                                "on four devices"),
            "");
}
