// A small GPT with Adam: pre-norm blocks of causal attention and an MLP of four times the width.
#include "rows_training.h"

#include <cmath>

namespace bench {

namespace {

namespace nn = ts::nn;
constexpr std::int64_t kWidth = 256, kLayers = 4, kManyLayers = 48, kHeads = 4, kSequence = 128,
                       kBatch = 8, kVocabulary = 96;

struct Block {
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, project, up, down;

  Array attend(Array x) const {
    std::int64_t b = x.shape(0), t = x.shape(1), d = kWidth / kHeads;
    std::vector<Array> parts = ts::split(qkv(x).reshape(b, t, kHeads, 3 * d), 3, 3);
    Array scores = ts::einsum("bqhd,bkhd->bhqk", {parts[0], parts[1]}) *
                   (1.0f / std::sqrt(static_cast<float>(d)));
    Array mask = ts::tril(ts::ones({t, t}, ts::bool_));
    Array weights = nn::softmax(ts::where(mask, scores.astype(ts::f32), -1e9f)).astype(x.dtype());
    return project(ts::einsum("bhqk,bkhd->bqhd", {weights, parts[2]}).reshape(b, t, kWidth));
  }
  Array operator()(Array x) const {
    x = x + attend(norm1(x));
    return x + down(nn::gelu(up(norm2(x))));
  }
};
struct Gpt {
  nn::Embedding tokens, positions;
  std::vector<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  Array operator()(Array ids) const {
    Array x = tokens(ids) + positions.weight;
    if (head.dtype) x = x.astype(*head.dtype);
    for (const Block& block : blocks) x = block(x);
    return head(norm(x)).astype(ts::f32);
  }
};

// `dtype` is the dtype of the arithmetic; parameters, softmax and loss are float32.
Gpt make_gpt(std::int64_t layers, std::optional<ts::DType> dtype = {}) {
  Array keys = ts::random::split(ts::random::key(0), 3 + 4 * layers);
  std::int64_t used = 0;
  auto next = [&] { return keys(used++); };
  Gpt g{nn::embedding(next(), kVocabulary, kWidth),
        nn::embedding(next(), kSequence, kWidth),
        {},
        nn::layer_norm(kWidth),
        nn::linear(next(), kWidth, kVocabulary, {.dtype = dtype})};
  for (std::int64_t i = 0; i < layers; ++i)
    g.blocks.push_back({nn::layer_norm(kWidth), nn::layer_norm(kWidth),
                        nn::linear(next(), kWidth, 3 * kWidth, {.dtype = dtype}),
                        nn::linear(next(), kWidth, kWidth, {.dtype = dtype}),
                        nn::linear(next(), kWidth, 4 * kWidth, {.dtype = dtype}),
                        nn::linear(next(), 4 * kWidth, kWidth, {.dtype = dtype})});
  return g;
}
Array gpt_loss(const Gpt& model, Array ids, Array labels) {
  return ts::mean(nn::softmax_cross_entropy_with_integer_labels(model(ids), labels));
}

// A step on whole arrays over a mesh. Its state and batch are sharded by the rules.
Call sharded(std::vector<ts::Mesh::Axis> axes, const std::vector<ts::PathRule>& rules,
             const ts::PartitionSpec& batch, Array x, Array y) {
  std::int64_t devices = 1;
  for (const ts::Mesh::Axis& axis : axes) devices *= axis.size;
  const ts::Mesh mesh(std::move(axes), first_devices(devices));
  const Gpt model = make_gpt(kLayers);
  const ts::optim::State moments = ts::optim::adam(1e-3).init(model);
  const ts::SpecTree of_model = ts::specs(model, rules);
  const ts::SpecTree state{of_model, ts::optim::specs(moments, model, of_model)};
  auto step = ts::jit(
      step_of<Gpt>(gpt_loss, false),
      {.mesh = mesh, .in_shardings = {state, batch, batch}, .out_shardings = {state, ts::P()}});
  return fed_back(step, ts::device_put(Training<Gpt>{model, moments}, mesh, state),
                  ts::device_put(x, mesh, batch), ts::device_put(y, mesh, batch));
}

}  // namespace

void add_gpt_rows() {
  auto text = [](std::vector<std::int64_t> lead) {
    lead.push_back(kSequence);
    auto ids = [&](std::uint64_t seed) {
      return ts::random::randint(ts::random::key(seed), ts::Shape(lead), 0, kVocabulary);
    };
    return std::pair(ids(1), ids(2));
  };
  add_training<Gpt>("gpt", gpt_loss, [] { return make_gpt(kLayers); }, text, kBatch, {0, 4, 8});
  add_training<Gpt>("gpt_bf16", gpt_loss, [] { return make_gpt(kLayers, ts::bf16); }, text, kBatch,
                    {0});
  // The first call of a deep network shows costs that grow faster than the length of a program.
  add_training<Gpt>("gpt_deep", gpt_loss, [] { return make_gpt(kManyLayers); }, text, kBatch, {0});

  using ts::none;
  using ts::P;
  // Megatron's tensor parallelism along "model"; all other parameters are replicated.
  const std::vector<ts::PathRule> tensor = {{"**/qkv/weight", P(none, "model")},
                                            {"**/qkv/bias", P("model")},
                                            {"**/up/weight", P(none, "model")},
                                            {"**/up/bias", P("model")},
                                            {"**/project/weight", P("model")},
                                            {"**/down/weight", P("model")},
                                            {"**", P()}};
  auto add = [&](const char* name, std::vector<ts::Mesh::Axis> axes,
                 std::vector<ts::PathRule> rules, ts::PartitionSpec batch) {
    rows().push_back({std::string("gpt_") + name + "/4", [=] {
                        auto [x, y] = text({kBatch});
                        return sharded(axes, rules, batch, x, y);
                      }});
  };
  add("data", {{"data", 4}}, {{"**", P()}}, P("data"));
  add("fsdp", {{"data", 4}}, {{"**", P("data")}}, P("data"));
  add("tensor", {{"model", 4}}, tensor, P());
  add("2x2", {{"data", 2}, {"model", 2}}, tensor, P("data"));
}

}  // namespace bench
