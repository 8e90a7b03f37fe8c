// Checks which equations are fused into one kernel, and that fusion changes no bit.
#include "codegen/fuse/fuse.h"

#include "codegen/run_parts.h"
#include "ops/build.h"

#include <algorithm>

namespace ts = tessera;
namespace cg = tessera::codegen;
namespace ops = tessera::ops;

namespace {

std::vector<cg::Cluster> fused(const ts::ProgramPtr& p) {
  return cg::fuse(*p, std::vector<int>(p->types.size(), 0));
}

std::vector<std::size_t> kernel_sizes(const std::vector<cg::Cluster>& clusters) {
  std::vector<std::size_t> n;
  for (const auto& c : clusters)
    if (c.kind == cg::Cluster::Kind::kernel) n.push_back(c.equations.size());
  return n;
}

run::Arrays execute(const ts::ProgramPtr& p, run::InArrays inputs) {
  return run::by_clusters(p, inputs, fused(p), [](const ts::ProgramPtr& kernel, run::InArrays in) {
    return run::compiled(kernel, in);
  });
}
run::Arrays one_by_one(const ts::ProgramPtr& p, run::InArrays inputs) {
  return run::one_by_one(
      p, inputs, [](const ts::Equation& e, const ts::ProgramPtr& single, run::InArrays in) {
        // As in execute(), a small product is compiled even if it is alone. It adds its terms in
        // runs, whereas the evaluator adds one after the other.
        const bool kernel = cg::is_emitted(e) || kernel_sizes(fused(single)).size() == 1;
        return kernel ? run::compiled(single, in) : ts::evaluate(*single, in);
      });
}

void expect_same_bits(const ts::ProgramPtr& p, double lo = -1, double hi = 1) {
  std::vector<ts::HostArray> in = run::random_inputs(*p, 3, lo, hi);
  std::vector<ts::HostArray> a = execute(p, in), b = one_by_one(p, in);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(run::same_bits(a[i], b[i])) << "output " << i;
}

ts::ProgramPtr softmax(ts::Shape shape) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, shape});
  std::int64_t last = shape.rank() - 1;
  ts::Ints kept;
  for (int i = 0; i < last; ++i) kept.push_back(i);
  ts::Value m = ops::broadcast_in_dim(ops::reduce_max(x, {last}), shape, kept);
  ts::Value e = ops::exp(ops::sub(x, m));
  ts::Value s = ops::broadcast_in_dim(ops::reduce_sum(e, {last}), shape, kept);
  ts::Value y = ops::div(e, s);
  return b.finish({{y}});
}

}  // namespace

TEST(Fuse, ElementwiseChainsAreOneKernel) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {8, 100}}), w = b.input({ts::f32, {100}});
  ts::Value y = ops::tanh(
      ops::add(ops::mul(x, ops::full_like(x, 3)), ops::broadcast_in_dim(w, {8, 100}, {1})));
  ts::ProgramPtr p = b.finish({{y}});
  std::vector<cg::Cluster> c = fused(p);
  EXPECT_EQ(c.size(), 1u);
  EXPECT_EQ(kernel_sizes(c), (std::vector<std::size_t>{p->equations.size()}));
  expect_same_bits(p);
}

TEST(Fuse, SoftmaxOverRowsIsOneKernel) {
  ts::ProgramPtr p = softmax({16, 100});
  EXPECT_EQ(kernel_sizes(fused(p)).size(), 1u);
  expect_same_bits(p);
}

TEST(Fuse, SoftmaxOfEveryFormKeepsItsBits) {
  for (ts::Shape s : {ts::Shape{8, 8}, {9, 16384}, {16, 20000}, {3, 50}, {1000, 7}, {4, 5, 33}}) {
    SCOPED_TRACE(ts::to_string(s));
    expect_same_bits(softmax(s));
  }
}

TEST(Fuse, ATotalOfManyElementsThatTheyAllRead) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {100000}});
  ts::Value sum = ops::reduce_sum(x, {0});
  ts::Value d = ops::sub(
      x, ops::broadcast_in_dim(ops::mul(sum, ops::scalar(b, ts::f32, 1e-5)), {100000}, {}));
  ts::Value variance = ops::reduce_sum(ops::mul(d, d), {0});
  ts::Value y = ops::mul(d, ops::broadcast_in_dim(ops::rsqrt(variance), {100000}, {}));
  ts::ProgramPtr p = b.finish({{y, sum}});
  expect_same_bits(p);
  std::vector<ts::HostArray> in = run::random_inputs(*p, 3);
  std::vector<ts::HostArray> whole = run::compiled(p, in), alone = one_by_one(p, in);
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_TRUE(run::same_bits(whole[i], alone[i])) << i;
}

TEST(Fuse, ColumnsOverManyRows) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {5000, 24}}), y = b.input({ts::f32, {5000, 24}});
  ts::Value g = ops::mul(x, ops::tanh(y));
  ts::Value total = ops::reduce_sum(g, {0});
  ts::ProgramPtr p = b.finish({{ops::mul(total, total)}});
  EXPECT_EQ(kernel_sizes(fused(p)).size(), 1u);
  expect_same_bits(p);
}

TEST(Fuse, AHundredThousandEquationsTakeNoTime) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {16}}), y = x;
  for (int i = 0; i < 50000; ++i) y = i % 7 ? ops::add(y, x) : ops::mul(y, ops::full_like(x, 2));
  ts::ProgramPtr p = b.finish({{y}});
  std::vector<cg::Cluster> c = fused(p);
  std::size_t equations = 0;
  for (std::size_t n : kernel_sizes(c)) equations += n;
  EXPECT_EQ(equations, p->equations.size());
  EXPECT_LT(c.size(), 2000u);
}

TEST(Fuse, LossIsOneKernel) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {64, 1000}}), y = b.input({ts::f32, {64, 1000}});
  ts::Value d = ops::sub(x, y);
  ts::Value loss =
      ops::mul(ops::reduce_sum(ops::mul(d, d), {0, 1}), ops::scalar(b, ts::f32, 1.0 / 64000));
  ts::ProgramPtr p = b.finish({{loss}});
  EXPECT_EQ(kernel_sizes(fused(p)).size(), 1u);
  expect_same_bits(p);
}

TEST(Fuse, CallsSplitKernelsAndNothingIsCyclic) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {8, 8}}), w = b.input({ts::f32, {8, 8}});
  ts::Value a = ops::exp(x);
  ts::Value d = ops::dot_general(a, w, {{1}, {0}, {}, {}}, ts::f32);
  ts::Value y = ops::add(a, d);
  ts::ProgramPtr p = b.finish({{y}});
  std::vector<cg::Cluster> c = fused(p);
  ASSERT_EQ(c.size(), 3u);
  EXPECT_EQ(c[1].kind, cg::Cluster::Kind::single);
  expect_same_bits(p);
}

TEST(Fuse, SmallProductsWithVectorsJoinWhatReadsThem) {
  ts::Builder b;
  ts::Value h = b.input({ts::f32, {40}}), w = b.input({ts::f32, {40, 24}}),
            x = b.input({ts::f32, {24}}), sum = b.input({ts::f32, {40, 24}});
  ts::Value state = ops::tanh(ops::add(ops::dot_general(h, w, {{0}, {0}, {}, {}}, ts::f32), x));
  ts::Value outer = ops::add(sum, ops::dot_general(h, x, {}, ts::f32));
  ts::ProgramPtr p = b.finish({{state, outer}});
  EXPECT_EQ(kernel_sizes(fused(p)).size(), 2u);
  expect_same_bits(p);
}

TEST(Fuse, OneCallReadByTwoPathsOfDifferentLength) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {8, 8}});
  ts::Value a = ops::mul(x, x);
  ts::Value c = ops::cumsum(a, 0);
  ts::Value e = ops::add(a, c);
  ts::Value f = ops::cumsum(e, 1);
  ts::Value y = ops::sub(ops::add(e, f), a);
  ts::ProgramPtr p = b.finish({{y, a}});
  expect_same_bits(p);
}

TEST(Fuse, AdamSharesOnePass) {
  ts::Builder b;
  ts::Type t(ts::f32, {1000});
  ts::Value p0 = b.input(t), m0 = b.input(t), v0 = b.input(t), g = b.input(t),
            lr = b.input({ts::f32, {}});
  auto c = [&](double v) { return ops::full_like(g, v); };
  ts::Value m = ops::add(ops::mul(m0, c(0.9)), ops::mul(g, c(0.1)));
  ts::Value v = ops::add(ops::mul(v0, c(0.999)), ops::mul(ops::mul(g, g), c(0.001)));
  ts::Value step =
      ops::div(ops::mul(m, ops::broadcast_in_dim(lr, {1000}, {})), ops::add(ops::sqrt(v), c(1e-8)));
  ts::Value p1 = ops::sub(p0, step);
  ts::ProgramPtr p = b.finish({{p1, m, v}});
  EXPECT_EQ(kernel_sizes(fused(p)).size(), 1u);
  expect_same_bits(p, 0, 1);
}

TEST(Fuse, LayerNormWithItsStatisticsAsResults) {
  ts::Builder b;
  ts::Shape s{12, 96};
  ts::Value x = b.input({ts::f32, s}), gamma = b.input({ts::f32, {96}});
  ts::Value n = ops::scalar(b, ts::f32, 1.0 / 96);
  auto mean = [&](ts::Value v) {
    return ops::mul(ops::reduce_sum(v, {1}), ops::broadcast_in_dim(n, {12}, {}));
  };
  auto wide = [&](ts::Value v) { return ops::broadcast_in_dim(v, s, {0}); };
  ts::Value mu = mean(x), d = ops::sub(x, wide(mu)), r = ops::rsqrt(mean(ops::mul(d, d)));
  ts::Value y = ops::mul(ops::mul(d, wide(r)), ops::broadcast_in_dim(gamma, s, {1}));
  ts::ProgramPtr p = b.finish({{y, mu, r}});
  EXPECT_EQ(kernel_sizes(fused(p)).size(), 1u);
  expect_same_bits(p);
}

// The difference is computed before the root that it is multiplied by. It is fused into the product
// after it and never stored.
TEST(Fuse, ColumnsAreNormalisedInThreePasses) {
  ts::Builder b;
  const ts::Shape s{400, 24};
  ts::Value x = b.input({ts::f32, s});
  auto mean = [&](ts::Value v) {
    return ops::mul(ops::reduce_sum(v, {0}),
                    ops::broadcast_in_dim(ops::scalar(b, ts::f32, 1.0 / 400), {24}, {}));
  };
  auto wide = [&](ts::Value v) { return ops::broadcast_in_dim(v, s, {1}); };
  ts::Value mu = mean(x), d = ops::sub(x, wide(mu)), again = ops::sub(x, wide(mean(x)));
  ts::Value r = ops::rsqrt(mean(ops::mul(again, again)));
  ts::Value y = ops::mul(d, wide(r));
  ts::ProgramPtr p = b.finish({{y}});
  std::vector<ts::Var> stored;
  for (const cg::Cluster& c : fused(p))
    stored.insert(stored.end(), c.outputs.begin(), c.outputs.end());
  EXPECT_FALSE(std::count(stored.begin(), stored.end(), d.var));
  EXPECT_FALSE(std::count(stored.begin(), stored.end(), again.var));
  expect_same_bits(p);
}

// Values that all rows share are computed in each row if that is cheap; a root is not.
TEST(Fuse, RootsOfColumnsAreNotComputedForEachRow) {
  for (const bool root : {false, true}) {
    ts::Builder b;
    const ts::Shape s{400, 24};
    ts::Value x = b.input({ts::f32, s}), v = b.input({ts::f32, {24}});
    ts::Value w = ops::add(v, v), scale = root ? ops::rsqrt(w) : ops::neg(w);
    ts::ProgramPtr p = b.finish({{ops::mul(x, ops::broadcast_in_dim(scale, s, {1}))}});
    EXPECT_EQ(kernel_sizes(fused(p)).size(), root ? 2u : 1u);
    expect_same_bits(p, 0.5, 2);
  }
  // A scalar is computed once, wherever it is read.
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {400, 24}}), v = b.input({ts::f32, {}});
  ts::ProgramPtr p = b.finish({{ops::mul(x, ops::broadcast_in_dim(ops::rsqrt(v), {400, 24}, {}))}});
  EXPECT_EQ(kernel_sizes(fused(p)).size(), 1u);
  expect_same_bits(p, 0.5, 2);
}

TEST(Fuse, ClassesAreKeptApart) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {64}}), y = b.input({ts::f32, {64}});
  ts::Value u = ops::mul(x, x), v = ops::add(u, y);
  ts::ProgramPtr p = b.finish({{v}});
  std::vector<int> classes(p->types.size(), 0);
  classes[v.var] = 1;
  classes[y.var] = 1;
  EXPECT_EQ(cg::fuse(*p, classes).size(), 2u);
}

TEST(Fuse, AViewThatACallReadsIsNoKernel) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {4, 2, 8}}), w = b.input({ts::f32, {8, 8}});
  ts::Value flat = ops::reshape(ops::exp(x), {8, 8});
  ts::Value y = ops::add(ops::dot_general(flat, w, {{1}, {0}, {}, {}}, ts::f32), flat);
  ts::ProgramPtr p = b.finish({{y}});
  std::vector<cg::Cluster> c = fused(p);
  EXPECT_EQ(kernel_sizes(c), (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(c.size(), 4u);
  expect_same_bits(p);
}
