// Plans whose figures are computed by hand.
#include "mlp.h"
#include "transformer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <regex>

using namespace by_hand;
using transformer::Sizes;

namespace {

TEST(Plan, ForwardPassByHand) {
  const ts::Plan p = sharded_mlp(grid).lower(x, w1, w2).plan(slow());
  EXPECT_EQ(p.name, "mlp");
  EXPECT_EQ(p.mesh, "AbstractMesh('data': 2, 'model': 2)");
  EXPECT_EQ(p.devices, 4);
  // The shards are x [4,16], w1 [16,16], w2 [16,16]; the hidden layer is [4,16] on each device.
  EXPECT_EQ(p.argument_bytes, 4 * (4 * 16 + 16 * 16 + 16 * 16));
  EXPECT_EQ(p.result_bytes, 4 * 4 * 16);
  // There are two products of 2 m n k operations, and a maximum.
  EXPECT_EQ(p.flops, 2 * 4 * 16 * 16 + 4 * 16 + 2 * 4 * 16 * 16);
  // Each product reads two operands and writes one result; the maximum reads and writes one.
  EXPECT_EQ(p.memory_traffic, 2 * (256 + 1024 + 256) + 2 * 256);
  // A product is limited by arithmetic, the maximum by memory.
  EXPECT_DOUBLE_EQ(p.compute_seconds, 1e-9 * (2048 + 512 + 2048));
  // The second product is a partial sum over "model": reduce-scatter and all-gather of halves of
  // 256 bytes.
  EXPECT_EQ(listed(p), (Texts{"all_reduce model 256"}));
  EXPECT_EQ(p.moved_bytes, 256);
  EXPECT_DOUBLE_EQ(p.communication_seconds, 2 * (1e-6 + 128e-9));
  const ts::PlannedCollective& c = p.collectives[0];
  EXPECT_EQ(c.type, "f32[8,16]");
  EXPECT_EQ(c.from, "P('data') unreduced {'model'}");
  EXPECT_EQ(c.to, "P('data')");
  EXPECT_EQ(c.times, 1);
  EXPECT_FALSE(c.in_while || c.in_branch);
}

// Gradients of a mean square. With fewer rows the devices would exchange the rows instead.
TEST(Plan, TrainingStepByHand) {
  const Array rows = ts::abstract(ts::f32, {256, 16});
  const auto step = [](Array in, Array a, Array b, Array want) {
    const auto loss = [](std::pair<Array, Array> w, Array i, Array o) {
      return ts::mean(ts::square(mlp(i, w.first, w.second) - o));
    };
    return ts::value_and_grad(loss)(std::pair(a, b), in, want);
  };
  const ts::Plan p =
      ts::jit(step, {.mesh = grid,
                     .in_shardings = {P("data"), P(none, "model"), P("model"), P("data")},
                     .out_shardings = {P(), {P(none, "model"), P("model")}}})
          .explain(rows, w1, w2, rows);
  // A device has 128 rows: two products forward and three backward, because x needs no gradient,
  // and elementwise work for each.
  EXPECT_GE(p.flops, 5 * 2 * 128 * 16 * 16);
  EXPECT_LE(p.flops, 6 * 2 * 128 * 16 * 16);
  // The sum of the second layer has 128 x 16 floats. Two gradients have 16 x 16 floats, and the
  // loss is one.
  EXPECT_EQ(listed(p), (Texts{"all_reduce data 1024", "all_reduce data 1024", "all_reduce data 4",
                              "all_reduce model 8192"}));
}

TEST(Plan, ALoopCountsItsTurns) {
  const auto chain = [](Array in, Array w) {
    return ts::scan([](Array h, Array one) { return std::pair(ts::dot(h, one), Array()); }, in, w)
        .first;
  };
  const ts::Plan p = ts::jit(chain, {.mesh = grid,
                                     .in_shardings = {P("data"), P(none, "model")},
                                     .out_shardings = P("data")})
                         .lower(ts::abstract(ts::f32, {8, 16}), ts::abstract(ts::f32, {5, 16, 16}))
                         .plan(slow());
  // Each iteration has a product over the sharded dimension, [4,8] x [8,16], and there is one
  // multiplication, which computes where the device's shard begins in the start.
  EXPECT_EQ(p.flops, 5 * 2 * 4 * 8 * 16 + 1);
  std::int64_t bytes = 0;
  for (const ts::PlannedCollective& c : p.collectives) bytes += c.total_bytes();
  EXPECT_EQ(bytes, p.moved_bytes);
  ASSERT_FALSE(p.collectives.empty());
  EXPECT_EQ(p.collectives.front().times, 5);
  double end = 0;
  for (const ts::PlannedSpan& s : p.timeline.at(0).spans) {
    EXPECT_NEAR(s.start, end, 1e-12);
    end = s.start + s.seconds;
  }
  EXPECT_NEAR(end, p.seconds(), 1e-12);
}

TEST(Plan, OfBranchesTheCostliestCounts) {
  const auto branches = [](Array which, Array x, Array w) {
    const auto chosen = [&](Array x) {
      return ts::switch_(
          which,
          std::tuple([](Array v) { return ts::dot(v, v); }, [](Array v) { return ts::exp(v); },
                     [](Array v) { return ts::dot(ts::dot(v, v), v); }, [](Array v) { return -v; }),
          x);
    };
    return chosen(ts::dot(chosen(ts::dot(x, w)), w));
  };
  const Array square = ts::abstract(ts::f32, {16, 16}), which = ts::abstract(ts::i32, {});
  const ts::Plan p =
      ts::jit(branches, {.mesh = grid, .in_shardings = {P(), P(), P()}, .out_shardings = P()})
          .lower(which, square, square)
          .plan(slow());
  EXPECT_EQ(p.flops, 6 * 2 * 16 * 16 * 16);
  double end = 0;
  for (const ts::PlannedSpan& s : p.timeline.at(0).spans) {
    EXPECT_NEAR(s.start, end, 1e-12);
    end = s.start + s.seconds;
  }
  EXPECT_NEAR(end, p.compute_seconds, 1e-12);
}

TEST(Plan, OneDeviceAndMappedFunctions) {
  const ts::Plan one = ts::jit(mlp, {.name = "one"}).explain(x, w1, w2);
  EXPECT_EQ(one.mesh, "");
  EXPECT_EQ(one.devices, 1);
  EXPECT_EQ(one.flops, 2 * 8 * 16 * 32 + 8 * 32 + 2 * 8 * 32 * 16);
  EXPECT_TRUE(one.collectives.empty());
  ts::set_device_count(4);
  const ts::Mesh mesh({{"i", 4}});
  const ts::Plan mapped = ts::shard_map([](Array v) { return ts::psum(v * 2, "i"); },
                                        {.mesh = mesh, .in_specs = P("i"), .out_specs = P()})
                              .explain(ts::ones({8, 3}));
  EXPECT_EQ(mapped.mesh, "Mesh('i': 4)");
  // A shard has two rows of 12 bytes: the reduce-scatter receives 3/4 of that, and so does the
  // all-gather.
  EXPECT_EQ(listed(mapped), (Texts{"all_reduce i 36"}));
  EXPECT_EQ(mapped.collectives[0].op, "psum");
  EXPECT_EQ(mapped.arguments[0].spec, "P('i')");
  EXPECT_EQ(mapped.argument_bytes, 24);
}

TEST(Plan, FunctionsOfEachDevice) {
  ts::set_device_count(4);
  const ts::Plan p = ts::pmap([](Array v) { return ts::psum(v * 2, "i"); }, {.axis_name = "i"})
                         .explain(ts::ones({4, 3}));
  EXPECT_EQ(p.devices, 4);
  EXPECT_EQ(p.argument_bytes, 12);
  EXPECT_EQ(listed(p), (Texts{"all_reduce i 18"}));
  // The work of the function around it counts in full, because one device does it.
  auto inner = ts::pmap([](Array v) { return ts::psum(v * 2, "i"); }, {.axis_name = "i"});
  const ts::Plan outer = ts::jit([&](Array v) { return inner(v) + 1; }).explain(ts::ones({4, 3}));
  EXPECT_EQ(outer.moved_bytes, 18);
  EXPECT_EQ(outer.flops, 3 + 12);
}

// Several of them over one mesh, also in loops, form one program per device.
TEST(Plan, SeveralFunctionsOfEachDevice) {
  ts::set_device_count(4);
  const ts::Mesh mesh({{"x", 4}});
  const auto f = ts::shard_map([](Array v) { return v + ts::psum(v, "x"); },
                               {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x")});
  const auto g = ts::shard_map([](Array v) { return ts::psum(v * 2, "x"); },
                               {.mesh = mesh, .in_specs = P("x"), .out_specs = P()});
  const Array rows = ts::ones({8, 4});
  // A shard has 32 bytes: the reduce-scatter receives 24 of them, and so does the all-gather.
  const ts::Plan both = ts::jit([&](Array v) { return g(f(v)); }).explain(rows);
  EXPECT_EQ(both.mesh, "Mesh('x': 4)");
  EXPECT_EQ(both.devices, 4);
  EXPECT_EQ(listed(both), (Texts{"all_reduce x 48", "all_reduce x 48"}));
  EXPECT_EQ(both.moved_bytes, 96);
  EXPECT_EQ(both.argument_bytes, 32);
  EXPECT_EQ(both.arguments[0].spec, "P('x')");
  EXPECT_EQ(both.result_bytes, 32);
  EXPECT_EQ(both.flops, 16);
  const ts::Plan loop =
      ts::jit([&](Array v) {
        return ts::scan([&](Array c, Array) { return std::pair(f(c), Array()); }, v, ts::zeros({5}))
            .first;
      }).explain(rows);
  EXPECT_EQ(loop.devices, 4);
  EXPECT_EQ(listed(loop), (Texts{"all_reduce x 48 * 5"}));
  EXPECT_EQ(loop.axes.at(0).moved_bytes, 240);
  // Functions over different meshes do not form one program, but the bytes that each moves are
  // known.
  const ts::Mesh other({{"y", 2}});
  const auto h = ts::shard_map([](Array v) { return ts::psum(v, "y"); },
                               {.mesh = other, .in_specs = P("y"), .out_specs = P()});
  const ts::Plan apart = ts::jit([&](Array v) { return h(f(v)); }).explain(rows);
  EXPECT_EQ(apart.devices, 1);
  EXPECT_EQ(listed(apart), (Texts{"all_reduce x 48", "all_reduce y 64"}));
  EXPECT_GT(apart.communication_seconds, 0);
}

// The predicted bytes are those that the devices hold, exactly.
TEST(Plan, ArgumentsAndResultsAreThoseOfTheRuntime) {
  ts::set_device_count(4);
  const ts::Mesh mesh({{"data", 2}, {"model", 2}});
  const auto f = sharded_mlp(mesh);
  const ts::Plan p = f.explain(x, w1, w2);
  const auto live = [&] {
    std::vector<std::int64_t> all;
    for (const ts::Device& d : mesh.devices()) all.push_back(ts::memory_stats(d).live);
    return all;
  };
  const Array in = ts::ones({8, 16}), a = ts::ones({16, 32}), b = ts::ones({32, 16});
  const auto before = live();
  const Array pin = ts::device_put(in, mesh, P("data")),
              pa = ts::device_put(a, mesh, P(none, "model")),
              pb = ts::device_put(b, mesh, P("model"));
  const auto held = live();
  const Array out = f(pin, pa, pb).block_until_ready();
  const auto after = live();
  for (std::size_t d = 0; d < before.size(); ++d) {
    EXPECT_EQ(held[d] - before[d], p.argument_bytes) << d;
    EXPECT_EQ(after[d] - held[d], p.result_bytes) << d;
  }
  // The bytes that each device contributes, and those that it receives.
  const auto uses = f.lower(x, w1, w2).collectives();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].bytes, 256);
  EXPECT_EQ(p.moved_bytes, 256);
}

// The prediction is that of the planner that lays out the frame of a call, if no two devices share
// memory.
TEST(Plan, TemporariesAreThoseOfTheFrame) {
  const char* text = std::getenv("TESSERA_ISOLATE");
  if (!text || std::string(text) != "1") GTEST_SKIP() << "devices share memory";
  ts::set_device_count(4);
  const ts::Mesh mesh({{"data", 2}, {"model", 2}});
  const auto f = sharded_mlp(mesh);
  const ts::Plan p = f.explain(x, w1, w2);
  // The values of all devices between phases, and the memory of one device at a time within a
  // phase.
  std::smatch found;
  const std::string schedule = f.lower(x, w1, w2).schedule();
  ASSERT_TRUE(std::regex_search(schedule, found, std::regex("arena (\\d+) B, local (\\d+) B")))
      << schedule;
  EXPECT_EQ(p.temporary_bytes, std::stoll(found[1]) / 4 + std::stoll(found[2]));
  // The frame of a call has these and a table of pointers.
  EXPECT_GE(f.lower(x, w1, w2).memory().temporaries, std::stoll(found[1]) + std::stoll(found[2]));
}

TEST(Plan, AnAbstractMeshPlansWhatARealOneRuns) {
  ts::set_device_count(4);
  ts::Plan planned = sharded_mlp(grid).explain(x, w1, w2);
  const ts::Plan real = sharded_mlp(ts::Mesh({{"data", 2}, {"model", 2}})).explain(x, w1, w2);
  EXPECT_EQ(real.mesh, "Mesh('data': 2, 'model': 2)");
  planned.mesh = real.mesh;
  EXPECT_EQ(planned, real);
  EXPECT_EQ(sharded_mlp(grid).lower(x, w1, w2).collectives(),
            sharded_mlp(ts::Mesh({{"data", 2}, {"model", 2}})).lower(x, w1, w2).collectives());
}

// Without specs, the plan uses the shardings of the arrays.
TEST(Plan, WhereTheDataIs) {
  ts::set_device_count(4);
  const ts::Mesh mesh({{"data", 2}, {"model", 2}});
  const ts::Plan p =
      ts::jit(mlp).explain(ts::device_put(ts::ones({8, 16}), mesh, P("data")),
                           ts::device_put(ts::ones({16, 32}), mesh, P(none, "model")),
                           ts::device_put(ts::ones({32, 16}), mesh, P("model")));
  EXPECT_EQ(p.mesh, "Mesh('data': 2, 'model': 2)");
  EXPECT_EQ(p.arguments[1].spec, "P(none, 'model')");
  EXPECT_EQ(p.argument_bytes, 4 * (4 * 16 + 16 * 16 + 16 * 16));
  EXPECT_EQ(p.flops, 2 * 4 * 16 * 16 + 4 * 16 + 2 * 4 * 16 * 16);
  EXPECT_EQ(listed(p), (Texts{"all_reduce model 256"}));
}

TEST(Plan, LargeValuesThatStayWhole) {
  const auto f = [](Array a, Array b) {
    return ts::dot(a, b) + ts::with_sharding_constraint(ts::transpose(ts::dot(a, b)), P());
  };
  const Array a = ts::abstract(ts::f32, {1024, 1024});
  const ts::Plan p = ts::jit(f, {.mesh = grid, .in_shardings = {P("data"), P()}}).explain(a, a);
  std::map<std::string, std::string> by;
  for (const ts::PlannedWhole& w : p.wholes) {
    EXPECT_EQ(w.bytes, 4 << 20);
    by[w.op] = w.why;
  }
  EXPECT_EQ(by["argument"], "asked for");
  EXPECT_EQ(by["sharding_constraint"], "asked for by a constraint");
}

// A mesh of 64 x 64 devices, and parameters too large for this machine.
TEST(Plan, ATransformerOn4096Devices) {
  Sizes s;
  s.layers = 2;
  const ts::Mesh mesh = ts::Mesh::abstract({{"data", 64}, {"model", 64}});
  ts::PlanOptions options;
  options.memory = false;
  options.alternatives = 0;
  const std::int64_t held = ts::physical_memory_stats().live;
  ts::reset_peak_memory();
  const ts::Plan out = transformer::plan(transformer::written_out(s), s, mesh, options);
  const ts::Plan in = transformer::plan(transformer::scanned(s), s, mesh, options);
  EXPECT_LE(ts::physical_memory_stats().peak - held, 4096);
  EXPECT_EQ(out.devices, 4096);
  EXPECT_EQ(out.timeline.at(0).count, 4096);
  // Weights are sharded over 64 devices, norms are replicated: 4 w^2 and 8 w^2 per layer, and two
  // matrices of the vocabulary.
  const std::int64_t w = s.width, norms = 2 * s.layers * w + w;
  const std::int64_t weights = s.layers * 12 * w * w + 2 * s.vocabulary * w;
  const std::int64_t tokens = 2 * s.batch / 64 * s.sequence;
  EXPECT_EQ(out.argument_bytes, 4 * (weights / 64 + norms + tokens));
  EXPECT_EQ(in.argument_bytes, out.argument_bytes);
  EXPECT_EQ(out.result_bytes, 4 * (weights / 64 + norms + 1));
  // There are three products of each weight with the tokens of a device, except for the embedding,
  // and the two products of attention, each with two derivatives.
  const double rows = static_cast<double>(s.batch / 64 * s.sequence);
  const double products =
      6.0 * rows * static_cast<double>(s.layers * 12 * w * w + s.vocabulary * w) / 64;
  const double attention = 3.0 * 2 * 2 * rows * static_cast<double>(s.sequence * w * s.layers) / 64;
  EXPECT_GT(out.flops, products + attention);
  EXPECT_LT(out.flops, 1.05 * (products + attention));
}

}  // namespace
