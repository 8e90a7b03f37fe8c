// Layers agree with flax.linen for the same parameters, in results and gradients.
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/nn/attention.h>
#include <tessera/nn/layers.h>
#include <tessera/nn/normalization.h>
#include <tessera/nn/recurrent.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include "golden/compare.h"

namespace golden {
namespace {

namespace ts = tessera;
namespace nn = tessera::nn;
using nn::Linear;

const std::vector<Case>& all_cases() {
  static const auto& all = *new std::vector<Case>(cases_of("flax"));
  return all;
}
const Case& case_of(const std::string& name) {
  for (const Case& c : all_cases())
    if (c.name == name) return c;
  throw std::runtime_error("no case " + name);
}

nn::GRUCell gru(const Inputs& in) { return {{in[0], in[1]}, {in[2], {}}, in[3], 5}; }
nn::LSTMCell lstm(const Inputs& in, std::size_t at) {
  return {{in[at], {}}, {in[at + 1], in[at + 2]}, 5};
}

Array transposed(const std::string& variant, const Inputs& in) {
  nn::ConvTranspose layer{in[0], in[1]};
  if (variant == "stride2") layer.strides = {2, 2};
  if (variant == "stride4") layer.strides = {4, 4};
  if (variant == "valid") layer.strides = {2, 1}, layer.padding = "VALID";
  if (variant == "dilated") layer.dilation = {2, 2}, layer.padding = "VALID";
  return layer(in[2]);
}

Array attention(const std::string& f, const Inputs& in) {
  const nn::MultiHeadAttention layer{
      {in[0], in[1]}, {in[2], in[3]}, {in[4], in[5]}, {in[6], in[7]}, 4, 4};
  nn::AttentionCall call;
  if (f == "attention_masked") call.mask = case_of("masks").out[0];
  return layer(in[8], call);
}

// The layer's results for the inputs of its case.
Array result(const std::string& f, const std::string& variant, const Inputs& in) {
  if (f == "simple") return nn::RNN<nn::SimpleCell>{{{in[0], in[1]}, {in[2], {}}, 5}}(in[3]);
  if (f == "gru") return nn::RNN<nn::GRUCell>{gru(in)}(in[4]);
  if (f == "gru_reverse") return nn::RNN<nn::GRUCell>{gru(in), true}(in[4]);
  if (f == "lstm") return nn::RNN<nn::LSTMCell>{lstm(in, 0)}(in[3]);
  if (f == "bidirectional") return nn::Bidirectional<nn::LSTMCell>{lstm(in, 0), lstm(in, 3)}(in[6]);
  if (f == "rms_norm") return nn::RMSNorm{in[0]}(in[1]);
  if (f == "group_norm") return nn::GroupNorm{in[0], in[1], 3}(in[2]);
  if (f == "instance_norm") return nn::InstanceNorm{in[0], in[1]}(in[2]);
  if (f == "prelu") return nn::PReLU{in[0]}(in[1]);
  if (f == "conv_transpose") return transposed(variant, in);
  if (f == "depthwise") {
    nn::Conv layer = nn::depthwise_conv(ts::random::key(0), 6, 2, {3, 3});
    layer.weight = in[0], layer.bias = in[1];
    return layer(in[2]);
  }
  if (f == "min_pool") return nn::min_pool(in[0], {2, 2}, {1, 2});
  if (f == "einsum") return nn::Einsum{in[0], in[1], "btf,fhd->bthd"}(in[2]);
  if (f == "spectral_norm") {
    const nn::SpectralNorm norm{case_of("spectral_u").in[0], ts::ones({}), 2};
    return ts::tensordot(in[1], norm.train(in[0]).first, 2);
  }
  if (f == "weight_norm") return ts::matmul(in[2], nn::WeightNorm{in[1]}(in[0]));
  if (f.rfind("attention", 0) == 0) return attention(f, in);
  return {};
}

std::vector<Case> compared() {
  std::vector<Case> some;
  for (const Case& c : all_cases())
    if (!c.out.empty() && c.name != "masks") some.push_back(c);
  return some;
}

class Flax : public testing::TestWithParam<Case> {};

TEST_P(Flax, GivesTheSame) {
  Case c = GetParam();
  const bool derivative = c.name.find("_grad") != std::string::npos;
  c.function = c.function.substr(0, c.function.find("_grad"));
  std::vector<Array> got;
  if (derivative) {
    struct Model {
      std::vector<Array> arrays;
    };
    const auto loss = [&](Model m) {
      return ts::sum(ts::sin(result(c.function, c.variant, m.arrays)));
    };
    got = ts::jit(ts::grad(loss))(Model{c.in}).arrays;
  } else {
    got = {result(c.function, c.variant, c.in)};
  }
  ASSERT_FALSE(got[0].is_empty()) << "no function for " << c.name;
  ASSERT_EQ(got.size(), c.out.size());
  // Sums of up to 60 products, over 20 steps for recurrent layers. The gradient of a bias that
  // softmax cancels is 0, with terms as large as those of other gradients.
  double terms = 0;
  for (const Array& x : c.out) terms = std::max(terms, largest_of(x));
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_near(got[i], c.out[i], derivative ? 400 : 100, terms);
}

INSTANTIATE_TEST_SUITE_P(Golden, Flax, testing::ValuesIn(compared()), test_name);

TEST(Masks, AreFlaxs) {
  const Case& c = case_of("masks");
  const Array open = c.in[0], all_open = ts::ones({3, 20});
  const Array got =
      nn::combine_masks({nn::make_causal_mask(all_open), nn::make_attention_mask(all_open, open)});
  EXPECT_TRUE(ts::array_equal(got, c.out[0]).item<bool>());
}

// Generating token by token with a cache gives the results of causal attention over all tokens.
TEST(KvCache, GivesWhatAttentionOverAllGives) {
  const nn::MultiHeadAttention layer =
      nn::multi_head_attention(ts::random::key(1), 16, 4, {.kv_heads = 2, .rotary_base = 10000.0});
  const Array x = ts::random::normal(ts::random::key(2), {2, 7, 16});
  const Array whole = layer(x, {.is_causal = true});
  nn::KvCache cache = layer.cache(2, 9);
  const auto step = ts::jit([&](Array now, nn::KvCache c) { return layer.decode(now, c); });
  std::vector<Array> parts;
  for (int t = 0; t < 7; t += t == 0 ? 3 : 1) {  // three at once, then one by one
    const auto [y, next] = step(x(ts::all, ts::range(t, t == 0 ? 3 : t + 1)), cache);
    parts.push_back(y);
    cache = next;
  }
  EXPECT_EQ(cache.length.item<int>(), 7);
  expect_near(ts::concatenate(parts, 1), whole, 32, largest_of(whole));
}

// A rotation keeps lengths, and products depend on distances only.
TEST(RotaryEmbedding, TurnsByDistance) {
  const Array x = ts::random::normal(ts::random::key(3), {1, 1, 8});
  const auto at = [&](int place) { return nn::rotary_embedding(x, ts::array({place})); };
  const auto product = [&](int a, int b) { return ts::sum(at(a) * at(b)).item<float>(); };
  EXPECT_EQ(at(0).to_vector<float>(), x.to_vector<float>());
  EXPECT_NEAR(product(0, 0), product(7, 7), 1e-5);
  EXPECT_NEAR(product(2, 5), product(10, 13), 1e-5);
}

TEST(AdaptiveAvgPool, TakesMeansOfNearlyEqualWindows) {
  const Array x = ts::arange(5).astype(ts::f32).reshape(1, 5, 1);
  EXPECT_EQ(nn::adaptive_avg_pool(x, {3}).to_vector<float>(), (std::vector<float>{0.5, 2, 3.5}));
  EXPECT_EQ(nn::AdaptiveAvgPool{{1}}(x).to_vector<float>(), (std::vector<float>{2}));
}

TEST(DropoutVariants, DropSlicesAsAWhole) {
  const Array x = ts::ones({4, 3, 3, 50}), k = ts::random::key(5);
  const Array y = nn::SpatialDropout{0.5}(x, k);
  EXPECT_TRUE(
      ts::array_equal(y, ts::broadcast_to(y(ts::all, ts::range(0, 1), ts::range(0, 1)), y.shape()))
          .item<bool>());
  EXPECT_NEAR(ts::mean(y).item<float>(), 1, 0.2);
  EXPECT_TRUE(ts::array_equal(nn::BroadcastDropout{0.5, {0}}(x, k, false), x).item<bool>());
}

TEST(Composition, RunsLayersOneAfterTheOther) {
  const nn::MLP m = nn::mlp(ts::random::key(0), {4, 8, 3}, "gelu");
  const auto same = nn::sequential(
      m.layers[0], [](ts::Operand x) { return nn::gelu(x); }, m.layers[1], nn::Identity());
  const Array x = ts::ones({2, 4});
  EXPECT_EQ(m(x).to_vector<float>(), same(x).to_vector<float>());
}

TEST(MinPool, TakesIntegersAtTheirLimits) {
  const Array x = ts::array({-2147483647 - 1, 5, 2147483647, 7}).reshape(1, 4, 1);
  EXPECT_EQ(nn::min_pool(x, {2}).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{-2147483647 - 1, 7}));
}

}  // namespace
}  // namespace golden
