// Optimisers and schedules agree with Optax over 20 steps.
#include <tessera/constants.h>
#include <tessera/creation.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/transformations.h>
#include <tessera/random.h>

#include "golden/compare.h"

#include <limits>

namespace golden {
namespace {

namespace ts = tessera;
namespace optim = tessera::optim;
using optim::Optimizer;

struct Params {
  Array a, b, c;
};

const std::map<std::string, Optimizer>& optimizers() {
  static const auto& all = *new std::map<std::string, Optimizer>{
      {"adabelief", optim::adabelief(0.05)},
      {"adadelta", optim::adadelta(0.5, 0.9, 1e-6, 0.01)},
      {"adagrad", optim::adagrad(0.1)},
      {"adafactor", optim::adafactor(0.1, {.min_dim_size_to_factor = 2})},
      {"adafactor_momentum",
       optim::adafactor({},
                        {.min_dim_size_to_factor = 3, .momentum = 0.9, .weight_decay_rate = 0.01})},
      {"adafactor_plain", optim::adafactor(0.1, {.multiply_by_parameter_scale = false,
                                                 .clipping_threshold = {},
                                                 .factored = false})},
      {"adamax", optim::adamax(0.05)},
      {"amsgrad", optim::amsgrad(0.05)},
      {"lamb", optim::lamb(0.05, 0.1)},
      {"lars", optim::lars(0.5, {.weight_decay = 0.1})},
      {"lars_nesterov", optim::lars(0.5, {.nesterov = true})},
      {"lion", optim::lion(0.01)},
      {"nadam", optim::nadam(0.05)},
      {"nadamw", optim::nadamw(0.05, 0.1)},
      {"adamw_masked", optim::adamw(0.05, 0.1, {}, optim::mask_of(Params{true, false, true}))},
      {"adamw_masked_by_shape",
       optim::adamw(0.05, 0.1, {}, [](const Array& p) { return p.ndim() > 1; })},
      {"lion_masked", optim::lion(0.01, 0.9, 0.99, 0.1, std::vector{false, true, false})},
      {"lamb_masked", optim::lamb(0.05, 0.1, {.eps = 1e-6}, std::vector{false, true, true})},
      {"novograd", optim::novograd(0.05, {.weight_decay = 0.1})},
      {"radam", optim::radam(0.05)},
      {"sm3", optim::sm3(0.1)},
      {"adam_eps_root", optim::adam(0.05, {.eps_root = 1e-3})},
      {"centralize", optim::chain({optim::centralize(), optim::sgd(0.1)})},
      {"adaptive_grad_clip", optim::chain({optim::adaptive_grad_clip(0.1), optim::sgd(0.1)})},
      {"keep_params_nonnegative",
       optim::chain({optim::sgd(0.1), optim::keep_params_nonnegative()})},
      {"trace", optim::chain({optim::trace(0.8, true), optim::scale(-0.1)})},
      {"ema", optim::chain({optim::ema(0.8), optim::scale(-0.1)})},
      {"ema_biased", optim::chain({optim::ema(0.8, false), optim::scale(-0.1)})},
      {"add_noise",
       optim::chain({optim::add_noise(0.01, 0.55, ts::random::key(4)), optim::sgd(0.1)})},
      {"masked", optim::masked(optim::adam(0.05), std::vector{true, false, true})},
      {"multi_transform",
       optim::multi_transform({{"fast", optim::adam(0.05)}, {"slow", optim::sgd(0.1)}},
                              {"fast", "slow", "fast"})},
      {"MultiSteps", optim::MultiSteps(optim::adam(0.05), 3)},
      {"MultiSteps_sum", optim::MultiSteps(optim::sgd(0.05), 4, false)},
      {"inject_hyperparams",
       optim::inject_hyperparams(
           [](const optim::Hyperparams& h) { return optim::adam(h.at("learning_rate")); },
           {{"learning_rate", optim::linear_schedule(0.1, 0.0, 20)}})},
      {"scale_by_schedule",
       optim::chain(
           {optim::scale_by_schedule(optim::linear_schedule(0.1, 0.0, 20)), optim::scale(-1)})},
      {"apply_if_finite", optim::apply_if_finite(optim::adam(0.05), 5)},
      {"lookahead", optim::lookahead(optim::adam(0.05), 4, 0.5)},
      {"lookahead_reset", optim::lookahead(optim::adam(0.05), 4, 0.5, true)}};
  return all;
}

const std::map<std::string, optim::Schedule>& schedules() {
  static const auto& all = *new std::map<std::string, optim::Schedule>{
      {"join_schedules",
       optim::join_schedules({optim::constant_schedule(0.1), optim::linear_schedule(0.2, 0, 10),
                              optim::constant_schedule(0.05)},
                             {7, 20})},
      {"piecewise_constant_schedule",
       optim::piecewise_constant_schedule(0.1, {{5, 0.5}, {20, 0.1}})},
      {"polynomial_schedule", optim::polynomial_schedule(0.1, 0.01, 2, 20, 5)},
      {"sgdr_schedule", optim::sgdr_schedule({{0, 0.1, 3, 10, 0.01}, {0.01, 0.05, 2, 15}})},
      {"warmup_constant_schedule", optim::warmup_constant_schedule(0.01, 0.1, 10)},
      {"warmup_exponential_decay_schedule",
       optim::warmup_exponential_decay_schedule(0, 0.1, 5, 10, 0.5)},
      {"cosine_onecycle_schedule", optim::cosine_onecycle_schedule(30, 0.1)},
      {"linear_onecycle_schedule", optim::linear_onecycle_schedule(30, 0.1)},
      {"warmup_cosine_decay_schedule", optim::warmup_cosine_decay_schedule(0, 0.1, 5, 30, 0.01)},
      {"cosine_decay_schedule", optim::cosine_decay_schedule(0.1, 25, 0.1)},
      {"constant_schedule", optim::constant_schedule(0.3)}};
  return all;
}

const std::vector<Case>& all_cases() {
  static const auto& all = *new std::vector<Case>(cases_of("optax"));
  return all;
}
const Case& case_of(const std::string& name) {
  for (const Case& c : all_cases())
    if (c.name == name) return c;
  throw std::runtime_error("no case " + name);
}
std::vector<Case> compared() {
  std::vector<Case> some;
  for (const Case& c : all_cases())
    if (!c.out.empty()) some.push_back(c);
  return some;
}

// The parameters after steps 1, 7 and 20, concatenated.
template <class P>
Array steps(const Optimizer& opt, P params, const std::function<P(int)>& gradient) {
  const auto step = ts::jit([&](P p, optim::State s, P g) {
    auto [updates, next] = opt.update(g, s, p);
    return std::pair<P, optim::State>(optim::apply_updates(p, updates), next);
  });
  optim::State state = opt.init(params);
  std::vector<Array> kept;
  for (int t = 0; t < 20; ++t) {
    std::tie(params, state) = step(params, state, gradient(t));
    if (t == 0 || t == 6 || t == 19)
      for (const Array& x : ts::tree::leaves(params)) kept.push_back(ts::ravel(x));
  }
  return ts::concatenate(kept);
}

class Optax : public testing::TestWithParam<Case> {};

TEST_P(Optax, GoesTheSameWay) {
  const Case& c = GetParam();
  if (const auto s = schedules().find(c.function); s != schedules().end()) {
    std::vector<double> got;
    for (int t = 0; t <= 40; ++t) got.push_back(s->second(ts::array({t})[0]).item<double>());
    // Allows for the rounding errors of values up to 0.3, of cosines and of powers.
    expect_near(Array(got), c.out[0], 8, largest_of(c.out[0]));
    return;
  }
  const auto opt = optimizers().find(c.function);
  ASSERT_NE(opt, optimizers().end()) << "no optimiser for " << c.name;
  const ts::DType d =
      c.variant == "float64" || c.name.find("float64") != std::string::npos ? ts::f64 : ts::f32;
  const Inputs &start = case_of("start").in, &all = case_of("gradients").in;
  const Params first{start[0].astype(d), start[1].astype(d), start[2].astype(d)};
  const auto gradient = [&](int t) {
    Params g{all[0][t].astype(d), all[1][t].astype(d), all[2][t].astype(d)};
    if (c.function == "apply_if_finite" && (t == 3 || (t >= 8 && t <= 10)))
      g.b = g.b.at(1).set(t == 3 ? ts::inf : ts::nan);
    return g;
  };
  using Two = optim::LookaheadParams<Params>;
  const Array got = c.function.rfind("lookahead", 0) == 0
                        ? steps<Two>(opt->second, optim::init_synced(first),
                                     [&](int t) {
                                       return Two{gradient(t), gradient(t)};
                                     })
                        : steps<Params>(opt->second, first, gradient);
  // Allows for the rounding errors of 20 steps of up to some tenths. If gradients are divided by
  // small averages of themselves, a rounding error of the average counts more.
  const double ulps = d == ts::f64 ? 2048 : 256;
  expect_near(got, c.out[0], ulps, largest_of(c.out[0]));
}

INSTANTIATE_TEST_SUITE_P(Golden, Optax, testing::ValuesIn(compared()), test_name);

// A hyperparameter has the value that it was set to from the next step on.
TEST(InjectHyperparams, AreReadAndSet) {
  const Optimizer opt = optim::inject_hyperparams(
      [](const optim::Hyperparams& h) { return optim::sgd(h.at("learning_rate")); },
      {{"learning_rate", 0.5}});
  const Array p = ts::array({1.0, 2.0});
  optim::State state = opt.init(p);
  EXPECT_EQ(optim::hyperparam(state, "learning_rate").item<float>(), 0.5f);
  state = optim::with_hyperparam(state, "learning_rate", 0.25);
  const auto [updates, next] = opt.update(p, state, p);
  EXPECT_EQ(updates.to_vector<float>(), (std::vector<float>{-0.25f, -0.5f}));
  EXPECT_EQ(optim::hyperparam(next, "learning_rate").item<float>(), 0.25f);
}

TEST(IncrementalUpdate, MovesAPartOfTheWay) {
  const Array x = optim::incremental_update(ts::array({4.0, 0.0}), ts::array({0.0, 8.0}), 0.25);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 6}));
}

}  // namespace
}  // namespace golden
