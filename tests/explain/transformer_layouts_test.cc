// A training step of a transformer block with Adam under the usual shardings: the bytes that it
// exchanges, exactly, its work, and that its results are those of one device.
#include "transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace ts = tessera;
using transformer::Sizes;
using ts::Array;
using ts::none;
using ts::P;
using Model = transformer::Model<std::vector<transformer::Block>>;
using Texts = std::vector<std::string>;

namespace {

// If rows are sharded there are many of them, so that the weights have fewer bytes than the
// activations; if weights are sharded there are few.
constexpr Sizes kManyRows{
    .layers = 1, .width = 64, .heads = 4, .sequence = 16, .batch = 16, .vocabulary = 32},
    kFewRows{.layers = 1, .width = 64, .heads = 4, .sequence = 4, .batch = 4, .vocabulary = 32};

struct Layout {
  std::string name;
  std::vector<ts::Mesh::Axis> axes;
  std::vector<ts::PathRule> parameters;
  ts::PartitionSpec batch = P(), stream = P();
  bool streams = false;
  Sizes sizes = kManyRows;
  Texts exchanged = {};
};

// Megatron's tensor parallelism: columns of the first product and rows of the second.
std::vector<ts::PathRule> tensor(const ts::PartitionSpec::Dim& rest) {
  const ts::PartitionSpec columns = P(rest, "model"), rows = P("model", rest);
  return {{"**/query", columns}, {"**/key", columns}, {"**/value", columns}, {"**/out", rows},
          {"**/up", columns},    {"**/down", rows},   {"**", P(rest)}};
}

auto step_of(const Layout& l, const ts::Mesh& mesh, const ts::optim::Optimizer& adam) {
  return [=](Model m, ts::optim::State state, Array ids, Array labels) {
    const auto stream = [&](Array x) {
      return l.streams ? ts::with_sharding_constraint(x, ts::Sharding(mesh, l.stream)) : x;
    };
    const auto loss = [&](const Model& p) {
      Array x = stream(ts::take(p.embedding, ids, 0));
      for (const transformer::Block& b : p.blocks)
        x = stream(transformer::apply(b, x, l.sizes.heads));
      return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(
          ts::dot(transformer::normed(x, p.norm), p.head), labels));
    };
    auto [value, g] = ts::value_and_grad(loss)(m);
    auto [updates, next] = adam.update(g, state, m);
    return std::tuple(ts::optim::apply_updates(m, updates), next, value);
  };
}

// "all_reduce data: 3, 120 B": the number of values, combined or not, and the bytes that a device
// receives in all.
Texts exchanged(const ts::Plan& plan) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;
  for (const ts::PlannedCollective& c : plan.collectives) {
    std::string key = c.kind;
    for (const std::string& axis : c.axes) key += " " + axis;
    sums[key].first += c.times * std::ssize(c.values);
    sums[key].second += c.total_bytes();
  }
  Texts all;
  for (const auto& [key, sum] : sums)
    all.push_back(key + ": " + std::to_string(sum.first) + ", " + std::to_string(sum.second) +
                  " B");
  return all;
}

Model drawn(const Sizes& s) {
  std::uint32_t seed = 1;
  return ts::tree::map(
      [&](Array x) {
        const ts::Array u = ts::random::normal(ts::random::key(seed++), x.shape());
        return x.ndim() == 1 ? 1 + 0.1f * u : 0.3f * u;
      },
      transformer::written_out(s));
}

void expect_near(const Array& got, const Array& want, const std::string& what) {
  const double most = ts::max(ts::abs(ts::device_get(got) - want)).item<double>();
  EXPECT_LE(most, 2e-5) << what;
}

void expect_step(const Layout& l) {
  SCOPED_TRACE(l.name);
  ts::set_device_count(4);
  const ts::Mesh mesh(l.axes);
  // Adam's first step is g / (|g| + eps). With the usual eps, it multiplies the rounding errors of
  // gradients near zero by a million, and these errors differ between shardings.
  const ts::optim::Optimizer adam = ts::optim::adam(1e-2, {.eps = 1e-2});
  const Model m = drawn(l.sizes);
  const auto state = adam.init(m);
  const ts::Shape shape{l.sizes.batch, l.sizes.sequence};
  const Array ids = ts::random::randint(ts::random::key(71), shape, 0, 32),
              labels = ts::random::randint(ts::random::key(72), shape, 0, 32);
  const auto [want, want_state, want_loss] =
      ts::jit(step_of({.name = "one", .axes = {}, .parameters = {}, .sizes = l.sizes}, mesh, adam))(
          m, state, ids, labels);
  const ts::SpecTree of_model = ts::specs(m, l.parameters);
  auto step = ts::jit(step_of(l, mesh, adam),
                      {.mesh = mesh,
                       .in_shardings = {of_model, ts::unconstrained, l.batch, l.batch},
                       .out_shardings = {of_model, ts::unconstrained, P()}});
  ts::PlanOptions options;
  options.alternatives = 0;
  options.memory = false;
  EXPECT_EQ(exchanged(step.lower(m, state, ids, labels).plan(options)), l.exchanged);
  const ts::WorkCounter counter;
  const auto [got, got_state, got_loss] = step(m, state, ids, labels);
  const ts::MeasuredWork work = counter.total();
  options.memory = true;
  const ts::Plan plan = step.lower(m, state, ids, labels).plan(options);
  EXPECT_EQ(work.flops, plan.flops);
  EXPECT_EQ(work.moved_bytes, static_cast<double>(plan.moved_bytes));
  // The work is predicted for devices that share nothing.
  if (const char* text = std::getenv("TESSERA_ISOLATE"); text && std::string(text) == "1") {
    EXPECT_EQ(work.memory_traffic, plan.memory_traffic);
  }
  expect_near(got_loss, want_loss, "loss");
  const auto leaves = ts::tree::leaves(got), wanted = ts::tree::leaves(want);
  ASSERT_EQ(leaves.size(), wanted.size());
  for (std::size_t i = 0; i < leaves.size(); ++i)
    expect_near(leaves[i], wanted[i], "parameter " + std::to_string(i));
}

}  // namespace

// The gradients of 53,440 parameters in eleven arrays, and the loss.
TEST(TransformerLayouts, Data) {
  expect_step({.name = "data",
               .axes = {{"data", 4}},
               .parameters = {{"**", P()}},
               .batch = P("data"),
               .exchanged = {"all_reduce data: 12, 320646 B"}});
}

// 16 rows of 64, twice in the forward pass and twice in the backward pass.
TEST(TransformerLayouts, Tensor) {
  expect_step({.name = "tensor",
               .axes = {{"model", 4}},
               .parameters = tensor(none),
               .sizes = kFewRows,
               .exchanged = {"all_reduce model: 4, 24576 B"}});
}

TEST(TransformerLayouts, DataAndTensor) {
  expect_step({.name = "data and tensor",
               .axes = {{"data", 2}, {"model", 2}},
               .parameters = tensor(none),
               .batch = P("data"),
               .exchanged = {"all_reduce data: 12, 115460 B", "all_reduce model: 4, 131072 B"}});
}

// Each parameter is gathered once and its gradient is reduce-scattered, which is the bytes of the
// sums above.
TEST(TransformerLayouts, FullySharded) {
  expect_step({.name = "fully sharded",
               .axes = {{"data", 4}},
               .parameters = {{"**", P("data")}},
               .batch = P("data"),
               .exchanged = {"all_gather data: 11, 160320 B", "all_reduce data: 1, 6 B",
                             "reduce_scatter data: 11, 160320 B"}});
}

TEST(TransformerLayouts, FullyShardedAndTensor) {
  expect_step({.name = "fully sharded and tensor",
               .axes = {{"data", 2}, {"model", 2}},
               .parameters = tensor("data"),
               .batch = P("data"),
               .exchanged = {"all_gather data: 11, 57728 B", "all_reduce data: 1, 4 B",
                             "all_reduce model: 4, 131072 B", "reduce_scatter data: 11, 57728 B"}});
}

// The sums above are reduce-scattered, and gathered before the next product. In addition there are
// sums of the gradients of the scales and of the loss, and gathers of the few rows, labels and
// logits from which the gradients of the two arrays of the vocabulary are made.
TEST(TransformerLayouts, Sequence) {
  expect_step({.name = "sequence",
               .axes = {{"model", 4}},
               .parameters = tensor(none),
               .stream = P(none, "model"),
               .streams = true,
               .sizes = kFewRows,
               .exchanged = {"all_gather model: 8, 20016 B", "all_reduce model: 4, 1158 B",
                             "reduce_scatter model: 4, 12288 B"}});
}

// Each device has one and a half heads, so the result of the column-parallel product is gathered
// before it is split into heads.
TEST(TransformerLayouts, SixHeadsOverFourDevices) {
  expect_step(
      {.name = "six heads",
       .axes = {{"model", 4}},
       .parameters = tensor(none),
       .sizes = {.layers = 1, .width = 96, .heads = 6, .sequence = 4, .batch = 4, .vocabulary = 32},
       .exchanged = {"all_gather model: 4, 18432 B", "all_reduce model: 4, 36864 B"}});
}
