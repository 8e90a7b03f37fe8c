// Activations, losses, initialisers and attention agree with jax.nn and Optax.
#include <tessera/creation.h>
#include <tessera/grad.h>
#include <tessera/nn.h>
#include <tessera/nn/activations.h>
#include <tessera/nn/attention.h>
#include <tessera/nn/losses.h>
#include <tessera/reductions.h>

#include "golden/compare.h"

namespace golden {
namespace {

namespace ts = tessera;
namespace nn = tessera::nn;
using Out = std::vector<Array>;

using Unary = Array (*)(ts::Operand);
const std::map<std::string, Unary>& unary() {
  static const auto& all = *new std::map<std::string, Unary>{
      {"celu", [](ts::Operand x) { return nn::celu(x); }},
      {"squareplus", [](ts::Operand x) { return nn::squareplus(x); }},
      {"selu", nn::selu},
      {"relu6", nn::relu6},
      {"hard_tanh", nn::hard_tanh},
      {"hard_sigmoid", nn::hard_sigmoid},
      {"hard_silu", nn::hard_silu},
      {"mish", nn::mish},
      {"soft_sign", nn::soft_sign},
      {"sparse_plus", nn::sparse_plus},
      {"sparse_sigmoid", nn::sparse_sigmoid},
      {"swish", nn::swish}};
  return all;
}

Out activation(const std::string& f, const std::string& variant, const Inputs& in) {
  if (f == "celu" && variant == "0.5") return {nn::celu(in[0], 0.5)};
  if (f == "squareplus" && variant == "1") return {nn::squareplus(in[0], 1)};
  if (f == "glu") return {nn::glu(in[0], std::stoi(variant))};
  if (f == "standardize") {
    nn::StandardizeOptions o;
    if (variant == "0") o.axis = 0, o.epsilon = 1e-3;
    if (variant == "all") o.axis = {};
    if (variant == "where") o.where = in[1];
    if (variant == "given") o.mean = in[1], o.variance = in[2];
    return {nn::standardize(in[0], o)};
  }
  const auto found = unary().find(f);
  if (found != unary().end()) return {found->second(in[0])};
  if (f.rfind("grad_", 0) == 0 && unary().count(f.substr(5)))
    return {ts::grad(
        [&](Array x) { return ts::sum(unary().at(f.substr(5))(x) * ts::arange(9.0)); })(in[0])};
  return {};
}

using Binary = std::function<Array(Array, Array)>;
Binary loss_of(const std::string& f) {
  if (f == "squared_error") return [](Array x, Array y) { return nn::squared_error(x, y); };
  if (f == "l2_loss") return [](Array x, Array y) { return nn::l2_loss(x, y); };
  if (f == "log_cosh") return [](Array x, Array y) { return nn::log_cosh(x, y); };
  if (f == "hinge_loss") return [](Array x, Array y) { return nn::hinge_loss(x, y); };
  if (f == "cosine_distance") return [](Array x, Array y) { return nn::cosine_distance(x, y); };
  if (f == "cosine_similarity") return [](Array x, Array y) { return nn::cosine_similarity(x, y); };
  if (f == "kl_divergence") return [](Array x, Array y) { return nn::kl_divergence(x, y); };
  if (f == "sigmoid_focal_loss")
    return [](Array x, Array y) { return nn::sigmoid_focal_loss(x, y); };
  return {};
}

Out loss(const std::string& f, const std::string& variant, const Inputs& in) {
  if (f == "cosine_similarity" && variant == "1") return {nn::cosine_similarity(in[0], in[1], 1.0)};
  if (f == "sigmoid_focal_loss" && !variant.empty())
    return {nn::sigmoid_focal_loss(in[0], in[1], 0.25, 3)};
  if (f == "smooth_labels") return {nn::smooth_labels(in[0], 0.1)};
  if (f == "ctc_loss")
    return {nn::ctc_loss(in[0], in[1], in[2], in[3], {.blank_id = variant == "5" ? 5 : 0})};
  if (f == "grad_ctc_loss")
    return {
        ts::grad([&](Array x) { return ts::sum(nn::ctc_loss(x, in[1], in[2], in[3])); })(in[0])};
  if (const Binary plain = loss_of(f)) return {plain(in[0], in[1])};
  if (f.rfind("grad_", 0) != 0) return {};
  const Binary g = loss_of(f.substr(5));
  if (!g) return {};
  const auto [x, y] =
      ts::grad<0, 1>([&](Array a, Array b) { return ts::sum(g(a, b)); })(in[0], in[1]);
  return {x, y};
}

Out initialized(std::string name, const Inputs& in) {
  namespace init = nn::initializers;
  const bool wide = name.find(",f64") != std::string::npos;
  name = name.substr(0, name.find(','));
  const std::map<std::string, nn::Initializer> all{
      {"constant", init::constant(0.3)},
      {"normal", init::normal(0.5)},
      {"uniform", init::uniform(2)},
      {"truncated_normal", init::truncated_normal(0.5, -1, 2)},
      {"kaiming_normal", init::kaiming_normal()},
      {"kaiming_uniform", init::kaiming_uniform()},
      {"xavier_normal", init::xavier_normal()},
      {"xavier_uniform", init::xavier_uniform()},
      {"lecun_uniform", init::lecun_uniform()},
      {"variance_scaling", init::variance_scaling(3, "fan_out", "uniform")},
      {"variance_scaling_avg", init::variance_scaling(3, "fan_avg", "normal")},
      {"zeros", init::zeros()},
      {"ones", init::ones()}};
  return {
      all.at(name)(in[0], wide ? ts::Shape{3, 4} : ts::Shape{3, 4, 5}, wide ? ts::f64 : ts::f32)};
}

Out attention(const std::string& f, const std::string& variant, const Inputs& in) {
  nn::AttentionOptions o;
  o.is_causal = variant == "causal" || f == "grad_attention";
  if (variant == "mask") o.mask = in[3];
  if (variant == "bias") o.bias = in[3];
  if (variant == "scale") o.scale = 0.1;
  if (variant == "window") o.local_window_size = {2, 1};
  if (variant == "lengths") o.query_seq_lengths = in[3], o.key_value_seq_lengths = in[4];
  if (f == "attention") return {nn::dot_product_attention(in[0], in[1], in[2], o)};
  const auto g = ts::grad<0, 1, 2>([&](Array q, Array k, Array v) {
    return ts::sum(ts::sin(nn::scaled_dot_product_attention(q, k, v, o)));
  });
  const auto [q, k, v] = g(in[0], in[1], in[2]);
  return {q, k, v};
}

class Networks : public testing::TestWithParam<Case> {};

TEST_P(Networks, EqualJaxAndOptax) {
  const Case& c = GetParam();
  Out got = c.function == "initializer" ? initialized(c.variant, c.in)
            : c.function.find("attention") != std::string::npos
                ? attention(c.function, c.variant, c.in)
                : activation(c.function, c.variant, c.in);
  if (got.empty()) got = loss(c.function, c.variant, c.in);
  ASSERT_EQ(got.size(), c.out.size()) << "no function for " << c.name;
  // Sums of some products, and derivatives, have errors of a few units of the largest term. 16-bit
  // results are rounded once here and more often there.
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_near(got[i], c.out[i], ts::size_of(c.out[i].dtype()) == 2 ? 4 : 48,
                largest_of(c.out[i]));
}

INSTANTIATE_TEST_SUITE_P(Jax, Networks, testing::ValuesIn(cases_of("nn")), test_name);

// Integers are converted to floats.
TEST(Activations, TakeIntegers) {
  const Array x = ts::arange(-5, 7);
  for (const auto& [name, f] : unary())
    for (ts::DType d : {ts::i8, ts::i32})
      EXPECT_TRUE(ts::array_equal(f(x.astype(d)), f(x.astype(ts::f32))).item<bool>()) << name;
}

}  // namespace
}  // namespace golden
