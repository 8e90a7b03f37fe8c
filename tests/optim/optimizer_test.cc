// Each step of an optimiser agrees with its formula in double, for parameters of float32 and of
// float64. It may be off by a few rounding errors of the parameters' dtype only, so an intermediate
// float32 value shows in float64. The formulas are those of the papers named in the header.
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/optim.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/transformations.h>

#include "message.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace ts = tessera;
using test::message;
namespace optim = tessera::optim;
using ts::Array;

namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
struct Params {
  Array w, b;
};

// The gradient at step t (from 0) for element i.
double gradient(int t, std::size_t i) { return (static_cast<double>(i) - 1.5) * (t + 1) * 0.25; }

// Runs `steps` steps of an optimiser on four parameters and compares with a recurrence on doubles.
void expect_follows(const optim::Optimizer& opt, int steps,
                    const std::function<void(int t, std::size_t i, double g, double& p)>& step) {
  struct Run {
    ts::DType dtype;
    double tolerance;  // per step: a few rounding errors of values up to 4
    Params p{};
    optim::State state{};
  };
  std::vector<Run> runs{{ts::f32, 1e-6}, {ts::f64, 4e-15}};
  Doubles expected = {1, -2, 0.5, 3};
  for (Run& r : runs) {
    r.p = {ts::array({1.0, -2.0}, r.dtype), ts::array({0.5, 3.0}, r.dtype)};
    r.state = opt.init(r.p);
  }
  for (int t = 0; t < steps; ++t) {
    Doubles g;
    for (std::size_t i = 0; i < 4; ++i) {
      g.push_back(gradient(t, i));
      step(t, i, gradient(t, i), expected[i]);
    }
    for (Run& r : runs) {
      Params grads{ts::array({g[0], g[1]}, r.dtype), ts::array({g[2], g[3]}, r.dtype)};
      auto [updates, next] = opt.update(grads, r.state, r.p);
      r.state = next;
      r.p = optim::apply_updates(r.p, updates);
      const Doubles got = ts::concatenate({r.p.w, r.p.b}).astype(ts::f64).to_vector<double>();
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(got[i], expected[i], r.tolerance * (t + 1))
            << r.dtype << " step " << t << " element " << i;
    }
  }
}

double at(const optim::Schedule& s, int count) {
  return s(Array(count).astype(ts::i32)).item<double>();
}

}  // namespace

TEST(Optim, Sgd) {
  expect_follows(optim::sgd(0.1), 3, [](int, std::size_t, double g, double& p) { p -= 0.1 * g; });
}

TEST(Optim, Momentum) {
  Doubles m(4, 0);
  expect_follows(optim::sgd(0.1, 0.9), 4, [&](int, std::size_t i, double g, double& p) {
    p -= 0.1 * (m[i] = 0.9 * m[i] + g);
  });
  Doubles n(4, 0);
  expect_follows(optim::sgd(0.1, 0.9, true), 4, [&](int, std::size_t i, double g, double& p) {
    n[i] = 0.9 * n[i] + g;
    p -= 0.1 * (0.9 * n[i] + g);
  });
}

TEST(Optim, Adam) {
  Doubles m(4, 0), v(4, 0);
  expect_follows(optim::adam(0.01), 5, [&](int t, std::size_t i, double g, double& p) {
    m[i] = 0.9 * m[i] + 0.1 * g;
    v[i] = 0.999 * v[i] + 0.001 * g * g;
    p -= 0.01 * (m[i] / (1 - std::pow(0.9, t + 1))) /
         (std::sqrt(v[i] / (1 - std::pow(0.999, t + 1))) + 1e-8);
  });
}

TEST(Optim, AdamWDecaysTheParametersThemselves) {
  Doubles m(4, 0), v(4, 0);
  expect_follows(optim::adamw(0.01, 0.1), 5, [&](int t, std::size_t i, double g, double& p) {
    m[i] = 0.9 * m[i] + 0.1 * g;
    v[i] = 0.999 * v[i] + 0.001 * g * g;
    double u = (m[i] / (1 - std::pow(0.9, t + 1))) /
               (std::sqrt(v[i] / (1 - std::pow(0.999, t + 1))) + 1e-8);
    p -= 0.01 * (u + 0.1 * p);
  });
}

TEST(Optim, RmsProp) {
  Doubles v(4, 0);
  expect_follows(optim::rmsprop(0.01), 5, [&](int, std::size_t i, double g, double& p) {
    v[i] = 0.9 * v[i] + 0.1 * g * g;
    p -= 0.01 * g / std::sqrt(v[i] + 1e-8);
  });
}

TEST(Optim, ClipsValues) {
  Params g{ts::array({3.0, -0.5}), ts::array({-4.0, 1.0})};
  auto opt = optim::clip_by_value(1.0);
  auto u = opt.update(g, opt.init(g), g).first;
  EXPECT_EQ(u.w.to_vector<float>(), (Floats{1, -0.5f}));
  EXPECT_EQ(u.b.to_vector<float>(), (Floats{-1, 1}));
}

TEST(Optim, ChainsOfStages) {
  Doubles m(4, 0);
  auto opt =
      optim::chain({optim::add_decayed_weights(0.5), optim::scale(2.0), optim::sgd(0.1, 0.9)});
  EXPECT_EQ(opt.stages().size(), 4u);
  expect_follows(opt, 3, [&](int, std::size_t i, double g, double& p) {
    p -= 0.1 * (m[i] = 0.9 * m[i] + 2 * (g + 0.5 * p));
  });
}

TEST(Optim, ClipsTheGlobalNorm) {
  Params g{ts::array({3.0, 0.0}), ts::array({0.0, 4.0})};
  EXPECT_EQ(optim::global_norm(g).item<float>(), 5.0f);
  auto clipped = [&](double norm) {
    auto opt = optim::clip_by_global_norm(norm);
    return opt.update(g, opt.init(g), g).first;
  };
  EXPECT_EQ(clipped(5.0).w.to_vector<float>(), (Floats{3, 0}));
  EXPECT_EQ(clipped(2.5).w.to_vector<float>(), (Floats{1.5f, 0}));
  EXPECT_EQ(clipped(2.5).b.to_vector<float>(), (Floats{0, 2}));
  Params zero{ts::zeros({2}), ts::zeros({2})};
  auto opt = optim::clip_by_global_norm(1.0);
  EXPECT_EQ(opt.update(zero, opt.init(zero), zero).first.w.to_vector<float>(), (Floats{0, 0}));
}

// The squares of these floats are out of range, but their norm is not.
TEST(Optim, NormsOfVeryLargeAndVerySmallGradients) {
  NEEDS_CPU(subnormals);
  for (const int e : {-130, -90, 0, 83, 120}) {
    const float p = std::ldexp(1.0f, e);
    const Params g{Array(Floats{3 * p, 0}), Array(Floats{0, 4 * p})};
    EXPECT_EQ(optim::global_norm(g).item<float>(), 5 * p) << "2^" << e;
    const auto opt = optim::clip_by_global_norm(2.5 * static_cast<double>(p));
    const Params u = opt.update(g, opt.init(g), g).first;
    EXPECT_EQ(u.w.to_vector<float>(), (Floats{1.5f * p, 0})) << "2^" << e;
    EXPECT_EQ(u.b.to_vector<float>(), (Floats{0, 2 * p})) << "2^" << e;
  }
  // The norm itself is out of range, and the bound is not.
  const float most = std::numeric_limits<float>::max();
  const Params g{Array(Floats{most, most}), Array(Floats{most, most})};
  const auto opt = optim::clip_by_global_norm(1.0);
  EXPECT_EQ(opt.update(g, opt.init(g), g).first.w.to_vector<float>(), (Floats{0.5f, 0.5f}));
  // A 16-bit leaf beside one that makes the factor 1e-8, which a 16-bit float rounds to 0: the
  // result is within half a unit in the last place of 6e-4.
  const optim::Leaves mixed{ts::full({1}, 60000.0f).astype(ts::f16), ts::full({1}, 1e8f)};
  const Array kept = opt.update(mixed, opt.init(mixed), mixed).first[0];
  EXPECT_EQ(kept.dtype(), ts::f16);
  EXPECT_NEAR(kept.astype(ts::f32).item<float>(), 6e-4f, 6e-4f / 2048);
  const Array wide(Doubles{3e200, 4e200});
  EXPECT_DOUBLE_EQ(optim::global_norm(Params{wide, ts::ones({2})}).item<double>(), 5e200);
  EXPECT_EQ(ts::grad([](Array x) { return optim::global_norm(optim::Leaves{x}); })(ts::zeros({2}))
                .to_vector<float>(),
            (Floats{0, 0}));
  // Optimisers that use the norm of a parameter array.
  const Params large{Array(Floats{3e25f, 4e25f}), Array(Floats{1, 0})},
      one{Array(Floats{0, 1}), Array(Floats{1, 0})};
  const auto ratio = optim::scale_by_trust_ratio();
  EXPECT_FLOAT_EQ(ratio.update(one, ratio.init(large), large).first.w.to_vector<float>()[1], 5e25f);
  const auto adaptive = optim::adaptive_grad_clip(1.0);
  EXPECT_FLOAT_EQ(adaptive.update(large, adaptive.init(one), one).first.w.to_vector<float>()[0],
                  0.6f);
}

TEST(Optim, MasksSayWhichWeightsDecay) {
  const Params p{ts::array({{1.0, 2.0}}), ts::array({3.0})};
  const Params g{ts::zeros({1, 2}), ts::zeros({1})};
  const auto updated = [&](const optim::Optimizer& opt) {
    const Params u = opt.update(g, opt.init(p), p).first;
    Floats all = u.w.to_vector<float>();
    for (float x : u.b.to_vector<float>()) all.push_back(x);
    return all;
  };
  const Floats matrices{-0.25f, -0.5f, 0}, vectors{0, 0, -0.75f};
  const auto of_matrices = [](const Array& x) { return x.ndim() > 1; };
  EXPECT_EQ(updated(optim::adamw(0.5, 0.5, {}, of_matrices)), matrices);
  EXPECT_EQ(updated(optim::adamw(0.5, 0.5, {}, std::vector{false, true})), vectors);
  EXPECT_EQ(updated(optim::adamw(0.5, 0.5, {}, optim::mask_of(Params{true, false}))), matrices);
  const auto by_path = [](const std::string& path, const Array&) { return path == "b"; };
  EXPECT_EQ(updated(optim::adamw(0.5, 0.5, {}, optim::mask_by_path(p, by_path))), vectors);
  EXPECT_EQ(updated(optim::nadamw(0.5, 0.5, {}, of_matrices)), matrices);
  EXPECT_EQ(updated(optim::lion(0.5, 0.9, 0.99, 0.5, of_matrices)), matrices);
  EXPECT_EQ(
      updated(optim::chain({optim::add_decayed_weights(0.5, of_matrices), optim::scale(-0.5)})),
      matrices);
  EXPECT_EQ(updated(optim::lamb(0.5, 0.5, {}, of_matrices))[2], 0);
  // The mask has one entry too few.
  const optim::Optimizer wrong = optim::adamw(0.5, 0.5, {}, std::vector{true});
  EXPECT_THROW(static_cast<void>(wrong.init(p)), ts::TreeError);
}

TEST(Optim, LeavesWithoutGradientStay) {
  Params p{ts::array({1.0, 2.0}), ts::array({7, 8})}, g{ts::array({1.0, 1.0}), Array()};
  for (const auto& opt :
       {optim::sgd(0.5), optim::sgd(0.5, 0.9), optim::adam(0.5), optim::adamw(0.5),
        optim::rmsprop(0.5), optim::chain({optim::clip_by_value(1.0), optim::sgd(0.5)}),
        optim::chain({optim::clip_by_global_norm(1.0), optim::sgd(0.5)})}) {
    optim::State state = opt.init(p);
    auto [u, next] = opt.update(g, state, p);
    EXPECT_TRUE(u.b.is_empty());
    Params after = optim::apply_updates(p, u);
    EXPECT_EQ(after.b.to_vector<std::int32_t>(), (std::vector<std::int32_t>{7, 8}));
    EXPECT_EQ(after.b.dtype(), ts::i32);
    EXPECT_LT(after.w.to_vector<float>()[0], 1.0f);
    // The state keeps its structure, so that it can be the carry of a loop.
    EXPECT_EQ(ts::tree::structure(next), ts::tree::structure(state));
  }
}

TEST(Optim, KeepsTheParametersDtype) {
  Params p{ts::ones({2}, ts::bf16), ts::ones({2}, ts::f64)};
  auto opt = optim::adam(0.1);
  auto [u, next] = opt.update(p, opt.init(p), p);
  Params after = optim::apply_updates(p, u);
  EXPECT_EQ(after.w.dtype(), ts::bf16);
  EXPECT_EQ(after.b.dtype(), ts::f64);
}

TEST(Optim, Schedules) {
  EXPECT_EQ(at(optim::constant(0.5), 9), 0.5);
  auto line = optim::linear_schedule(1, 3, 4);
  EXPECT_EQ(at(line, 0), 1);
  EXPECT_EQ(at(line, 1), 1.5);
  EXPECT_EQ(at(line, 100), 3);
  auto cosine = optim::cosine_decay(2.0, 10, 0.1);
  for (int t : {0, 3, 5, 10, 20}) {
    double c = 0.5 * (1 + std::cos(M_PI * std::min(t, 10) / 10.0));
    EXPECT_NEAR(at(cosine, t), 2.0 * (0.9 * c + 0.1), 2e-15);
  }
  auto fall = optim::exponential_decay(2.0, 4, 0.25),
       stairs = optim::exponential_decay(2.0, 4, 0.25, true);
  EXPECT_EQ(at(fall, 0), 2);
  EXPECT_NEAR(at(fall, 2), 1, 1e-15);
  EXPECT_NEAR(at(fall, 8), 0.125, 1e-15);
  EXPECT_EQ(at(stairs, 3), 2);
  EXPECT_NEAR(at(stairs, 7), 0.5, 1e-15);
  // Rates are not float32 numbers: they are weak doubles, so float32 parameters stay float32.
  EXPECT_EQ(at(optim::constant(0.1), 3), 0.1);
  EXPECT_NEAR(at(optim::linear_schedule(0.1, 0.3, 7), 3), 0.1 + 0.2 * 3 / 7, 1e-16);
  EXPECT_NEAR(at(optim::exponential_decay(0.1, 7, 0.7), 3), 0.1 * std::pow(0.7, 3.0 / 7), 1e-16);
  EXPECT_TRUE(optim::constant(0.1)(Array(3)).weak_type());
  EXPECT_EQ(fall(ts::zeros({}, ts::i32)).dtype(), ts::f32);
  auto warm = optim::warmup_cosine_decay(0.0, 1.0, 4, 12, 0.25);
  EXPECT_EQ(at(warm, 0), 0);
  EXPECT_EQ(at(warm, 1), 0.25);
  EXPECT_EQ(at(warm, 4), 1);
  EXPECT_NEAR(at(warm, 8), 0.625, 1e-15);
  EXPECT_NEAR(at(warm, 12), 0.25, 1e-15);
  EXPECT_NEAR(at(warm, 40), 0.25, 1e-15);
  static_assert(optim::scale_rate(0.1, 256) == 0.8);
  expect_follows(
      optim::sgd(optim::linear_schedule(0.4, 0.0, 4)), 6,
      [](int t, std::size_t, double g, double& p) { p -= 0.1 * std::max(0, 4 - t) * g; });
}

TEST(Optim, ScheduledAdam) {
  Doubles m(4, 0), v(4, 0);
  expect_follows(optim::adam(optim::exponential_decay(0.1, 3, 0.7), {.b1 = 0.8, .b2 = 0.99}), 6,
                 [&](int t, std::size_t i, double g, double& p) {
                   m[i] = 0.8 * m[i] + 0.2 * g;
                   v[i] = 0.99 * v[i] + 0.01 * g * g;
                   p -= 0.1 * std::pow(0.7, t / 3.0) * (m[i] / (1 - std::pow(0.8, t + 1))) /
                        (std::sqrt(v[i] / (1 - std::pow(0.99, t + 1))) + 1e-8);
                 });
}

// Numbers derived from a rate, and those that a state keeps, have the parameters' precision.
TEST(Optim, RatesAreDoublesUntilTheyMeetADtype) {
  const Array rate = optim::Rate(0.1).at(Array(3));
  EXPECT_EQ(rate.item<double>(), 0.1);
  EXPECT_TRUE(rate.weak_type());
  EXPECT_EQ((rate * ts::ones({}, ts::f32)).item<float>(), 0.1f);
}

TEST(Optim, InjectedRatesHaveTheParametersPrecision) {
  const auto make = [](const optim::Hyperparams& h) { return optim::sgd(h.at("rate"), 0.9); };
  Doubles m(4, 0), n(4, 0);
  expect_follows(
      optim::inject_hyperparams(make, {{"rate", 0.1}}), 4,
      [&](int, std::size_t i, double g, double& p) { p -= 0.1 * (m[i] = 0.9 * m[i] + g); });
  expect_follows(optim::inject_hyperparams(make, {{"rate", optim::exponential_decay(0.1, 3, 0.7)}}),
                 4, [&](int t, std::size_t i, double g, double& p) {
                   p -= 0.1 * std::pow(0.7, t / 3.0) * (n[i] = 0.9 * n[i] + g);
                 });
  // The state keeps its dtype, which is float64 if a parameter's is, so that it can be the carry of
  // a loop.
  const optim::Rate line = optim::linear_schedule(0.1, 0.3, 7);
  const auto opt = optim::inject_hyperparams(make, {{"fixed", 0.1}, {"rate", line}});
  for (const auto& [dtype, kept] :
       std::vector<std::pair<ts::DType, ts::DType>>{{ts::f64, ts::f64}, {ts::f32, ts::f32}}) {
    const Params p{ts::ones({2}, dtype), ts::ones({2}, ts::f32)};
    const optim::State first = opt.init(p), next = opt.update(p, first, p).second;
    for (const optim::State& s : {first, next})
      for (const char* name : {"fixed", "rate"})
        EXPECT_EQ(optim::hyperparam(s, name).dtype(), kept) << name << " of " << dtype;
    EXPECT_EQ(optim::hyperparam(next, "fixed").item<double>(), dtype == ts::f64 ? 0.1 : 0.1f);
    const auto set = optim::with_hyperparam(next, "fixed", 0.7);
    EXPECT_EQ(optim::hyperparam(set, "fixed").item<double>(), dtype == ts::f64 ? 0.7 : 0.7f);
  }
}

TEST(Optim, GlobalNormOfDoubles) {
  const Params g{ts::array({0.1, 0.2}, ts::f64), ts::array({0.3, 0.7}, ts::f64)};
  const double norm = std::sqrt(0.01 + 0.04 + 0.09 + 0.49);
  EXPECT_NEAR(optim::global_norm(g).item<double>(), norm, 2e-16);
  auto opt = optim::clip_by_global_norm(0.3);
  EXPECT_NEAR(opt.update(g, opt.init(g), g).first.b.to_vector<double>()[1], 0.7 * 0.3 / norm,
              2e-16);
}

TEST(Optim, StepsUnderJit) {
  auto opt = optim::adam(0.01);
  auto step = ts::jit([opt](Params p, optim::State s, Params g) {
    auto [u, next] = opt.update(g, s, p);
    return std::pair(optim::apply_updates(p, u), next);
  });
  Params p{ts::array({1.0, -2.0}), ts::array({0.5, 3.0})},
      g{ts::array({0.5, 0.25}), ts::array({-1.0, 2.0})};
  optim::State s = opt.init(p);
  auto [p1, s1] = step(p, s, g);
  auto [u, s2] = opt.update(g, s, p);
  EXPECT_TRUE(ts::tree::equal(p1, optim::apply_updates(p, u)));
  EXPECT_TRUE(ts::tree::equal(s1, s2));
  step(p1, s1, g);
  EXPECT_EQ(step.trace_count(), 1u);
}

TEST(Optim, SaysThatGradientsDoNotFit) {
  Params p{ts::ones({2}), ts::arange(3)}, g{ts::ones({4}), ts::ones({3})};
  EXPECT_EQ(message<ts::ShapeError>([&] { optim::sgd(0.1).update(g, optim::sgd(0.1).init(p), p); }),
            "Optimizer::update: gradients do not fit their parameters\n"
            "  - gradient 0 is f32[4], its parameter f32[2]\n"
            "  - gradient 1 is f32[3], its parameter i32[3]\n"
            "  rule: a gradient has the shape of a floating parameter; others have an empty one\n"
            "  try: grads = grad(loss)(params, ...), and the parameters in the place of params");
}

TEST(Optim, SaysThatAStateIsAnothers) {
  Params p{ts::ones({2}), ts::ones({2})};
  EXPECT_EQ(message<ts::TreeError>([&] { optim::adam(0.1).update(p, optim::sgd(0.1).init(p), p); }),
            "Optimizer::update: the state has 1 stages, the optimiser 2\n"
            "  rule: a state belongs to the optimiser whose init made it\n"
            "  try: state = optimizer.init(params)");
  // The number of stages is right, but one has another kind; and a state of another model.
  auto of_update = [](const auto& opt, const auto& state, const auto& params) {
    return message<ts::TreeError>([&] { opt.update(params, state, params); });
  };
  const std::string head =
      "Optimizer::update: the state is another optimiser's or another model's\n  - ";
  const std::string tail =
      "\n  rule: a state belongs to the optimiser and the parameters whose init made it\n  try: "
      "state = optimizer.init(params)";
  EXPECT_EQ(of_update(optim::adam(0.1), optim::sgd(0.1, 0.9).init(p), p),
            head + "it keeps 1 moments a parameter, the optimiser 2" + tail);
  Params other{ts::ones({3}), ts::ones({2})};
  EXPECT_EQ(of_update(optim::sgd(0.1, 0.9), optim::sgd(0.1, 0.9).init(other), p),
            head + "the moment of parameter 0 is f32[3], the parameter f32[2]" + tail);
  std::vector<Array> one{ts::ones({2})}, two{ts::ones({2}), ts::ones({2})};
  EXPECT_EQ(of_update(optim::adam(0.1), optim::adam(0.1).init(one), two),
            head + "it is of 1 parameters, the model has 2" + tail);
}

TEST(Optim, TrainState) {
  auto opt = optim::adam(0.1);
  auto state = optim::train_state(Params{ts::array({1.0, -2.0}), ts::array({0.5, 3.0})}, opt);
  EXPECT_EQ(state.step.item<int>(), 0);
  EXPECT_FALSE(state.step.weak_type());
  EXPECT_EQ(ts::tree::paths(state),
            (std::vector<std::string>{
                "model/w", "model/b", "optimizer/stages/0/count", "optimizer/stages/0/moments/0/0",
                "optimizer/stages/0/moments/0/1", "optimizer/stages/0/moments/1/0",
                "optimizer/stages/0/moments/1/1", "optimizer/stages/1/count", "step"}));
  Params grads{ts::array({1.0, 2.0}), ts::array({0.0, -1.0})};
  auto next = state.apply_gradients(opt, grads);
  auto [updates, memory] = opt.update(grads, state.optimizer, state.model);
  EXPECT_TRUE(ts::tree::equal(next.model, optim::apply_updates(state.model, updates)));
  EXPECT_TRUE(ts::tree::equal(next.optimizer, memory));
  EXPECT_EQ(next.step.item<int>(), 1);
  EXPECT_EQ(next.step.dtype(), ts::i32);
  // The state is split into leaves and merged.
  auto [leaves, def] = ts::tree::flatten(next);
  EXPECT_TRUE(ts::tree::equal(ts::tree::unflatten(state, leaves), next));
}
