// Kernels that run on panels of the product or convolution that they read: against the program
// without the pass, to the bit, and against the evaluators.
#include "ops/contraction/conv_dims.h"
#include "panel_programs.h"
#include "random/shrink.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

using namespace panels;

namespace {

/// A product of drawn shape with a chain behind it.
ProgramPtr drawn(walk::Dice& dice) {
  const DType dtype = dice.of(std::vector{DType::float32, DType::float32, DType::float64});
  const std::int64_t batch = dice.of(walk::Ints{1, 1, 2, 5}),
                     m = dice.of(walk::Ints{64, 32, 100, 200, 311}),
                     n = dice.of(walk::Ints{256, 160, 384, 129, 64}),
                     k = dice.of(walk::Ints{16, 1, 24, 64});
  Builder b("panels");
  const bool batched = batch > 1, turned = dice.toss();
  ops::DotDims dims;
  Ints left{m, k}, right = turned ? Ints{n, k} : Ints{k, n};
  const std::int64_t first = batched ? 1 : 0;
  dims.lhs_contracting = {first + 1};
  dims.rhs_contracting = {first + (turned ? 1 : 0)};
  if (batched) {
    left.insert(left.begin(), batch), right.insert(right.begin(), batch);
    dims.lhs_batch = dims.rhs_batch = {0};
  }
  const Value x = b.input(Type(dtype, left)), w = b.input(Type(dtype, right));
  const Value y = ops::dot_general(x, w, dims);
  const Shape shape = y.type().shape;
  const Value bias = b.input(Type(dtype, {n})), residual = b.input(Type(dtype, shape));
  Value z = y;
  for (std::int64_t links = dice.between(1, 4); links > 0; --links) switch (dice.below(7)) {
      case 0: z = ops::add(z, along_rows(bias, shape)); break;
      case 1: z = ops::tanh(z); break;
      case 2: z = ops::add(z, residual); break;
      case 3: z = ops::mul(z, z); break;
      case 4: z = softmax(z); break;
      case 5: z = ops::select(ops::gt(z, residual), z, residual); break;
      default: z = ops::convert(ops::convert(z, DType::bfloat16), dtype); break;
    }
  Values results{z};
  if (dice.once_in(3)) results.push_back(y);
  if (dice.once_in(4)) results.push_back(ops::convert(z, DType::bfloat16));
  return b.finish(results);
}

bool joined(const ProgramPtr& p) {
  const std::string plan = planned(p);
  return plan.find("dot_general+") != std::string::npos ||
         plan.find("convolution+") != std::string::npos;
}

/// A dense layer: tanh(x @ w + bias) + residual.
ProgramPtr dense(std::int64_t m, std::int64_t k, std::int64_t n, bool stored = false) {
  Builder b("dense");
  const Value x = b.input(Type(DType::float32, {m, k})), w = b.input(Type(DType::float32, {k, n})),
              bias = b.input(Type(DType::float32, {n})),
              residual = b.input(Type(DType::float32, {m, n}));
  ops::DotDims dims;
  dims.lhs_contracting = {1}, dims.rhs_contracting = {0};
  const Value y = ops::dot_general(x, w, dims);
  Values results{ops::add(ops::tanh(ops::add(y, along_rows(bias, y.type().shape))), residual)};
  if (stored) results.push_back(y);
  return b.finish(results);
}

}  // namespace

TEST(Panels, ChainsBehindProductsKeepTheirBits) {
  int joint = 0;
  check::check_many(40, 24, [&](const walk::Tape& tape) {
    walk::Dice dice(tape);
    const ProgramPtr p = drawn(dice);
    joint += joined(p);
    return check::problem(p, inputs_of(*p), static_cast<std::uint64_t>(dice.below(1 << 12)));
  });
  EXPECT_GE(joint, 15);
}

// Column blocks, row blocks, and parts of rows with a panel that is smaller than the others.
TEST(Panels, AllWaysToCutGiveTheSame) {
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{128, 768, 3072},
                                {32, 784, 512},
                                {1000, 64, 96},
                                {517, 300, 1000},
                                {2048, 16, 40}})
    for (const bool stored : {false, true}) {
      const ProgramPtr p = dense(m, k, n, stored);
      EXPECT_TRUE(joined(p)) << m << " " << k << " " << n << "\n" << planned(p);
      const walk::Arrays inputs = inputs_of(*p);
      EXPECT_EQ(check::compare_bits(check::compiled(*executable(p), inputs), apart(p, inputs),
                                    "in panels"),
                "")
          << m << " " << k << " " << n;
    }
}

// A layer of a network: relu(convolution(x, w) * scale + offset) + residual.
ProgramPtr layer(std::int64_t batch, std::int64_t size, std::int64_t inputs, std::int64_t outputs,
                 std::int64_t groups, std::int64_t window, std::int64_t stride,
                 bool stored = false) {
  Builder b("layer");
  ops::ConvDims dims;
  const std::int64_t low = (window - 1) / 2;
  dims.strides = {stride, stride};
  dims.pad_low = dims.pad_high = {low, low};
  dims.lhs_dilation = dims.rhs_dilation = {1, 1};
  dims.lhs_spec = dims.out_spec = {0, 3, 1, 2};
  dims.rhs_spec = {3, 2, 0, 1};
  dims.feature_groups = groups;
  const Value x = b.input(Type(DType::float32, {batch, size, size, inputs})),
              w = b.input(Type(DType::float32, {window, window, inputs / groups, outputs}));
  const Value y = ops::convolution(x, w, dims);
  const Type type = y.type();
  const Value scale = b.input(Type(DType::float32, {outputs})),
              offset = b.input(Type(DType::float32, {outputs})), residual = b.input(type);
  const Value normed =
      ops::add(ops::mul(y, along_rows(scale, type.shape)), along_rows(offset, type.shape));
  Values results{ops::add(ops::max(normed, ops::mul(normed, normed)), residual)};
  if (stored) results.push_back(y);
  return b.finish(results);
}

// Products of windows of one and several points, pixels as lanes, and channels as lanes.
TEST(Panels, KernelsBehindConvolutionsKeepTheirBits) {
  for (const auto& [batch, size, inputs, outputs, groups, window, stride] :
       {std::array<std::int64_t, 7>{2, 28, 64, 96, 1, 1, 1},
        {3, 7, 256, 320, 1, 1, 1},
        {1, 8, 64, 160, 1, 3, 1},
        {2, 40, 3, 8, 1, 3, 1},
        {2, 28, 96, 96, 96, 3, 1},
        {1, 29, 150, 150, 150, 5, 2}})
    for (const bool stored : {false, true}) {
      const ProgramPtr p = layer(batch, size, inputs, outputs, groups, window, stride, stored);
      // An estimate for the processor decides who computes few channels.
      if (inputs > 3) EXPECT_TRUE(joined(p)) << inputs << planned(p);
      const walk::Arrays arrays = inputs_of(*p);
      EXPECT_EQ(check::compare_bits(check::compiled(*executable(p), arrays), apart(p, arrays),
                                    "in panels"),
                "")
          << inputs << " to " << outputs;
    }
}

// Tasks divide the pixels unevenly, and the blocks of the last task may be larger than the others. A
// panel that is larger than its memory is an internal error.
TEST(Panels, PixelsOfConvolutionsAreDividedUnevenly) {
  for (const std::int64_t batch : {1, 8})
    for (std::int64_t size = 12; size <= 40; size += 4) {
      const ProgramPtr p = layer(batch, size, 64, 64, 1, 1, 1, false);
      EXPECT_TRUE(joined(p)) << planned(p);
      const walk::Arrays arrays = inputs_of(*p);
      EXPECT_EQ(check::compare_bits(check::compiled(*executable(p), arrays), apart(p, arrays),
                                    "in panels"),
                "")
          << batch << " images of " << size;
    }
}

// The result of the product takes no memory if nothing else reads it.
TEST(Panels, ResultsOfProductsAreNotStored) {
  const ProgramPtr p = dense(256, 64, 512);
  const std::int64_t with = tape::make_tape(*p, {})->temporaries;
  const check::Setting off("TESSERA_DISABLE_PASSES", "panels");
  EXPECT_LT(with, tape::make_tape(*p, {})->temporaries);
}

// A residual that is donated gives its memory to the result.
TEST(Panels, DonatedResidualsAreReused) {
  const ProgramPtr p = dense(256, 64, 512);
  tape::TapeOptions options;
  options.donated = {false, false, false, true};
  EXPECT_EQ(tape::make_tape(*p, options)->results[0].reuse, 3);
  runtime::CompileOptions compile;
  compile.donated = options.donated;
  const walk::Arrays inputs = inputs_of(*p);
  EXPECT_EQ(check::compare_bits(check::compiled(*executable(p, compile), inputs), apart(p, inputs),
                                "donated"),
            "");
}

// A body may be called by several threads at a time.
TEST(Panels, ThreadsHaveTheirOwnMemory) {
  const ProgramPtr p = dense(300, 64, 512);
  const auto run = executable(p);
  std::vector<walk::Arrays> inputs, expected;
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(inputs_of(*p));
    inputs.back()[0] = numbers(p->type(p->inputs[0]), 5 + i);
    expected.push_back(apart(p, inputs.back()));
  }
  std::string wrong[2];
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 20 && wrong[i].empty(); ++turn)
        wrong[i] = check::compare_bits(check::compiled(*run, inputs[i]), expected[i], "thread");
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong[0] + wrong[1], "");
}
