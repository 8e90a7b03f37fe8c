// Training steps: compares the sharding that is found with those that people write, in predicted
// time, memory and values.
#include "every_choice.h"

#include "explain/transformer.h"

#include <gtest/gtest.h>

namespace {

namespace ts = tessera;
using ts::Array;
using ts::none;
using ts::P;

struct Layer {
  Array w, b;
};
struct Mlp {
  Layer first, second;
};
struct Step {
  std::pair<Mlp, Array> operator()(Mlp m, Array x, Array y) const {
    const auto loss = [](const Mlp& p, Array in, Array want) {
      const Array h = ts::tanh(ts::dot(in, p.first.w) + p.first.b);
      return ts::mean(ts::square(ts::dot(h, p.second.w) + p.second.b - want));
    };
    auto [l, g] = ts::value_and_grad(loss)(m, x, y);
    return {ts::tree::map([](Array p, Array d) { return p - 0.1f * d; }, m, g), l};
  }
};
Mlp mlp(std::int64_t in, std::int64_t hidden, std::int64_t out) {
  const auto make = [](const ts::Shape& s) { return ts::abstract(ts::f32, s); };
  return {{make({in, hidden}), make({hidden})}, {make({hidden, out}), make({out})}};
}
Array f32(const ts::Shape& shape) { return ts::abstract(ts::f32, shape); }

ts::Mesh two_axes() { return ts::Mesh::abstract({{"data", 4}, {"model", 2}}); }

template <class F, class... A>
ts::Plan planned(F f, const ts::JitOptions& options, bool memory, A... args) {
  return ts::jit(f, options).lower(args...).plan(every_choice::bare(memory));
}

TEST(Autoshard, LargeBatchesAreCutAlongTheirRows) {
  const Mlp m = mlp(64, 128, 64);
  const Array x = f32({1 << 18, 64}), y = f32({1 << 18, 64});
  const ts::AutoShardings found = ts::autoshard(Step(), {.mesh = two_axes()})(m, x, y);
  ASSERT_EQ(found.in_shardings.children().size(), 3u);
  for (std::size_t i : {1u, 2u})
    EXPECT_EQ(to_string(found.in_shardings.children()[i]), "P(('data', 'model'))");
  const ts::Plan by_hand =
      planned(Step(),
              {.mesh = two_axes(),
               .in_shardings = {P(), P({"data", "model"}), P({"data", "model"})},
               .out_shardings = {P(), P()}},
              false, m, x, y);
  EXPECT_LE(found.seconds, by_hand.seconds() * (1 + 1e-9));
}

TEST(Autoshard, LargeWeightsAreCutWhereMemoryIsShort) {
  const Mlp m = mlp(8192, 32768, 8192);  // 1 GiB each
  const Array x = f32({64, 8192}), y = f32({64, 8192});
  const std::int64_t whole = std::int64_t{4} << 30;  // arguments and results
  const ts::AutoshardOptions options{.mesh = two_axes(), .memory_limit = whole / 2};
  const ts::AutoShardings found = ts::autoshard(Step(), options)(m, x, y);
  EXPECT_LE(found.peak_bytes(), options.memory_limit);
  const ts::Plan made = planned(Step(), found.options(), true, m, x, y);
  EXPECT_LE(made.peak_bytes(), options.memory_limit);
  EXPECT_EQ(made.peak_bytes(), found.peak_bytes());
  EXPECT_NEAR(made.seconds(), found.seconds, 1e-9 * found.seconds);
  // Each of the two large arguments is sharded.
  for (const ts::PlannedEnd& e : made.arguments)
    if (e.name.find("/w") != std::string::npos) {
      EXPECT_LE(e.bytes, std::int64_t{1} << 29) << e.name;
    }
  bool replicated_too_much = false;
  for (const ts::AutoshardTemplate& t : found.templates)
    replicated_too_much = replicated_too_much || (t.name == "replicated" && !t.fits);
  EXPECT_TRUE(replicated_too_much);
}

TEST(Autoshard, NoWorseThanWhatIsWrittenForATransformer) {
  using Blocks = std::vector<transformer::Block>;
  transformer::Sizes s{
      .layers = 1, .width = 1024, .heads = 16, .sequence = 256, .batch = 64, .vocabulary = 8192};
  const ts::Mesh mesh = ts::Mesh::abstract({{"data", 4}, {"model", 4}});
  const auto model = transformer::written_out(s);
  const Array ids = transformer::ids(s);
  const auto step = transformer::step_of<Blocks>(s.heads);
  const ts::AutoShardings found = ts::autoshard(step, {.mesh = mesh})(model, ids, ids);
  const auto seconds = [&](const ts::SpecTree& specs, const ts::PartitionSpec& rows) {
    return planned(
               step,
               {.mesh = mesh, .in_shardings = {specs, rows, rows}, .out_shardings = {specs, P()}},
               false, model, ids, ids)
        .seconds();
  };
  const ts::SpecTree fully = ts::specs(model, {{"**norm*", P({"data", "model"})},
                                               {"embedding", P({"data", "model"})},
                                               {"head", P(none, {"data", "model"})},
                                               {"**", P({"data", "model"})}});
  const double room = 1 + 1e-9;
  EXPECT_LE(found.seconds, room * seconds(P(), P()));
  EXPECT_LE(found.seconds, room * seconds(P(), P("data")));
  EXPECT_LE(found.seconds, room * seconds(P(), P({"data", "model"})));
  EXPECT_LE(found.seconds, room * seconds(fully, P({"data", "model"})));
  EXPECT_LE(found.seconds, room * seconds(transformer::specs(model), P("data")));
  for (const ts::AutoshardTemplate& t : found.templates)
    EXPECT_LE(found.seconds, room * t.seconds) << t.name;
  EXPECT_EQ(found.templates.size(), 4u);
}

TEST(Autoshard, RepeatedLayersAreCutAlikeAndJudgedByFewer) {
  using Blocks = std::vector<transformer::Block>;
  transformer::Sizes s{
      .layers = 16, .width = 512, .heads = 8, .sequence = 128, .batch = 32, .vocabulary = 2048};
  const ts::Mesh mesh = ts::Mesh::abstract({{"data", 4}, {"model", 4}});
  const auto model = transformer::written_out(s);
  const Array ids = transformer::ids(s);
  const auto step = transformer::step_of<Blocks>(s.heads);
  const ts::AutoshardOptions options{.mesh = mesh, .evaluations = 60};
  const ts::AutoShardings found = ts::autoshard(step, options)(model, ids, ids);
  EXPECT_EQ(found.repeats, 16);
  const ts::SpecTree& blocks = found.in_shardings.children()[0].children()[1];
  if (blocks.kind() == ts::SpecTree::Kind::list) {
    for (const ts::SpecTree& block : blocks.children())
      EXPECT_EQ(to_string(block), to_string(blocks.children()[0]));
  }
  // The result is planned again as a whole.
  const ts::Plan made = planned(step, found.options(), false, model, ids, ids);
  EXPECT_NEAR(made.seconds(), found.seconds, 1e-9 * found.seconds);
  EXPECT_EQ(made.argument_bytes, found.argument_bytes);
  EXPECT_EQ(made.result_bytes, found.result_bytes);
}

TEST(Autoshard, RepeatedLayersWithAnOptimiserAreJudgedByFewer) {
  using Model = transformer::Model<std::vector<transformer::Block>>;
  transformer::Sizes s{
      .layers = 12, .width = 512, .heads = 8, .sequence = 128, .batch = 32, .vocabulary = 2048};
  const ts::Mesh mesh = ts::Mesh::abstract({{"data", 4}, {"model", 4}});
  const Model model = transformer::written_out(s);
  const auto adam = ts::optim::adam(1e-3);
  const auto step = [adam, s](Model m, ts::optim::State state, Array ids, Array labels) {
    const auto loss = [&](const Model& p) {
      const Array x = transformer::through(p.blocks, ts::take(p.embedding, ids, 0), s.heads);
      return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(
          ts::dot(transformer::normed(x, p.norm), p.head), labels));
    };
    auto [l, g] = ts::value_and_grad(loss)(m);
    auto [updates, next] = adam.update(g, state, m);
    return std::tuple(ts::optim::apply_updates(m, updates), next, l);
  };
  const auto state = ts::eval_shape([&](Model m) { return adam.init(m); }, model);
  const Array ids = transformer::ids(s);
  const ts::AutoshardOptions options{.mesh = mesh, .evaluations = 60};
  const ts::AutoShardings found = ts::autoshard(step, options)(model, state, ids, ids);
  EXPECT_EQ(found.repeats, 12);
  const ts::Plan made = planned(step, found.options(), false, model, state, ids, ids);
  EXPECT_NEAR(made.seconds(), found.seconds, 1e-9 * found.seconds);
}

TEST(Autoshard, TheSameEveryTime) {
  const Mlp m = mlp(512, 1024, 256);
  const Array x = f32({256, 512}), y = f32({256, 256});
  const ts::AutoshardOptions options{.mesh = two_axes(), .evaluations = 150};
  const ts::AutoShardings a = ts::autoshard(Step(), options)(m, x, y);
  const ts::AutoShardings b = ts::autoshard(Step(), options)(m, x, y);
  EXPECT_EQ(to_string(a.in_shardings), to_string(b.in_shardings));
  EXPECT_EQ(to_string(a.out_shardings), to_string(b.out_shardings));
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.templates, b.templates);
  EXPECT_EQ(a.evaluations, b.evaluations);
  EXPECT_LE(a.evaluations, 150);
}

TEST(Autoshard, WhatIsSettledStays) {
  const Mlp m = mlp(512, 1024, 256);
  const Array x = f32({256, 512}), y = f32({256, 256});
  const ts::AutoshardOptions options{.mesh = two_axes(),
                                     .in_shardings = {ts::unconstrained, P("model"), P("model")}};
  const ts::AutoShardings found = ts::autoshard(Step(), options)(m, x, y);
  EXPECT_EQ(to_string(found.in_shardings.children()[1]), "P('model')");
  EXPECT_EQ(to_string(found.in_shardings.children()[2]), "P('model')");
}

TEST(Autoshard, MomentsLieAsTheirParameters) {
  const Mlp m = mlp(4096, 16384, 4096);
  const auto step = [](Mlp p, std::pair<Mlp, Mlp> moments, Array x, Array y) {
    const auto [next, l] = Step()(p, x, y);
    const auto blend = [](Array a, Array b) { return 0.9f * a + 0.1f * b; };
    return std::tuple(next,
                      std::pair(ts::tree::map(blend, moments.first, next),
                                ts::tree::map(blend, moments.second, next)),
                      l);
  };
  const Array x = f32({64, 4096});
  const ts::AutoShardings found = ts::autoshard(
      step, {.mesh = two_axes(), .memory_limit = std::int64_t{1} << 30})(m, std::pair(m, m), x, x);
  const auto& in = found.in_shardings.children();
  const auto& out = found.out_shardings.children();
  const auto of_moment = [](const ts::SpecTree& t, std::size_t i) {
    return to_string(t.kind() == ts::SpecTree::Kind::list ? t.children()[i] : t);
  };
  for (std::size_t i : {0u, 1u}) {
    EXPECT_EQ(of_moment(in[1], i), to_string(in[0]));
    EXPECT_EQ(of_moment(out[1], i), to_string(in[0]));
  }
  EXPECT_EQ(to_string(out[0]), to_string(in[0]));
}

TEST(Autoshard, AnOptimisersStateLiesAsItsParameters) {
  const Mlp m = mlp(2048, 8192, 2048);
  const auto adam = ts::optim::adam(1e-3);
  const auto step = [adam](Mlp p, ts::optim::State state, Array x, Array y) {
    const auto loss = [&](const Mlp& q) {
      const Array h = ts::tanh(ts::dot(x, q.first.w) + q.first.b);
      return ts::mean(ts::square(ts::dot(h, q.second.w) + q.second.b - y));
    };
    auto [l, g] = ts::value_and_grad(loss)(p);
    auto [updates, next] = adam.update(g, state, p);
    return std::tuple(ts::optim::apply_updates(p, updates), next, l);
  };
  const auto state = ts::eval_shape([&](Mlp p) { return adam.init(p); }, m);
  const Array x = f32({64, 2048});
  const std::int64_t whole =
      3 * 2 * (std::int64_t{128} << 20);  // with moments, allocated and freed
  const ts::AutoShardings found =
      ts::autoshard(step, {.mesh = two_axes(), .memory_limit = whole / 3})(m, state, x, x);
  EXPECT_LE(found.peak_bytes(), whole / 3);
  // Counts the parameters with two moments each, and the step counters.
  std::size_t threes = 0;
  for (const ts::AutoshardGroup& g : found.groups) threes += g.arguments == 3;
  EXPECT_EQ(threes, 4u) << found;
  const ts::Plan made = planned(step, found.options(), true, m, state, x, x);
  EXPECT_EQ(made.peak_bytes(), found.peak_bytes());
  for (const ts::PlannedEnd& e : made.results) {
    if (e.name.find("moments/0/0") != std::string::npos) {
      EXPECT_EQ(e.spec, made.results[0].spec) << e.name;
    }
  }
}

TEST(Autoshard, AFewLayersAreCutEachInItsWay) {
  // All layers have the same shape, and the least communication is needed if every second one is
  // sharded along its columns: there are too few rows to shard.
  const auto net = [](std::vector<Array> ws, Array x) {
    for (const Array& w : ws) x = ts::tanh(ts::dot(x, w));
    return x;
  };
  const std::vector<Array> ws(4, f32({4096, 4096}));
  const ts::Mesh mesh = ts::Mesh::abstract({{"model", 8}});
  const Array x = f32({4, 4096});
  const ts::AutoShardings found = ts::autoshard(net, {.mesh = mesh})(ws, x);
  const auto columns = P(none, "model"), rows = P("model");
  const ts::Plan by_hand = planned(
      net, {.mesh = mesh, .in_shardings = {{columns, rows, columns, rows}, P()}}, false, ws, x);
  EXPECT_LE(found.seconds, by_hand.seconds() * (1 + 1e-9));
}

TEST(Autoshard, ValuesAreThoseOfOneDevice) {
  ts::set_device_count(8);
  const ts::Mesh mesh({{"data", 4}, {"model", 2}});
  const auto normal = [](std::uint64_t seed, const ts::Shape& shape) {
    return ts::random::normal(ts::random::key(seed), shape);
  };
  const Mlp m{{normal(1, {16, 32}), normal(2, {32})}, {normal(3, {32, 8}), normal(4, {8})}};
  const Array x = normal(5, {64, 16}), y = normal(6, {64, 8});
  const ts::AutoShardings found = ts::autoshard(Step(), {.mesh = mesh})(m, x, y);
  const auto [cut_model, cut_loss] = ts::jit(Step(), found.options())(m, x, y);
  const auto [model, loss] = ts::jit(Step())(m, x, y);
  // The results are sums of 64 terms over up to 8 devices, added in another order.
  EXPECT_TRUE(ts::tree::allclose(cut_model, model, 1e-5, 1e-6));
  EXPECT_TRUE(ts::allclose(cut_loss, loss, 1e-5, 1e-6));
  // An abstract mesh of the same shape gives the same figures.
  const ts::AutoShardings planned = ts::autoshard(Step(), {.mesh = two_axes()})(m, x, y);
  EXPECT_EQ(planned.seconds, found.seconds);
  EXPECT_EQ(to_string(planned.in_shardings), to_string(found.in_shardings));
}

TEST(Autoshard, TheMeshOfTheScope) {
  const auto scope = ts::use_mesh(two_axes());
  const auto found = ts::autoshard([](Array a) { return a + 1; })(f32({64, 8}));
  EXPECT_EQ(found.mesh, two_axes());
  EXPECT_TRUE(found.exhaustive);
}

}  // namespace
