#include "11_fsdp_transformer/model.h"

#include <cmath>

namespace fsdp_transformer {

Gpt make_gpt(const Array& key, const Sizes& s) {
  Array keys = ts::random::split(key, 3 + 4 * s.layers);
  std::int64_t used = 0;
  const double narrow = 0.02 / std::sqrt(2.0 * static_cast<double>(s.layers));
  auto weight = [&](std::int64_t in, std::int64_t out, double deviation = 0.02) {
    return ts::random::normal(keys[used++], {in, out}) * deviation;
  };
  auto linear = [&](std::int64_t in, std::int64_t out, double deviation = 0.02) {
    return nn::Linear{weight(in, out, deviation), ts::zeros({out}), {}};
  };
  Gpt g{{weight(s.vocabulary, s.width)}, {weight(s.context, s.width)},  {},
        nn::layer_norm(s.width),         linear(s.width, s.vocabulary), s.heads};
  for (std::int64_t i = 0; i < s.layers; ++i)
    g.blocks.push_back({nn::layer_norm(s.width), nn::layer_norm(s.width),
                        linear(s.width, 3 * s.width), linear(s.width, s.width, narrow),
                        linear(s.width, 4 * s.width), linear(4 * s.width, s.width, narrow)});
  return g;
}

namespace {

Array attend(const Block& block, Array x, std::int64_t heads) {
  const std::int64_t b = x.shape(0), t = x.shape(1), d = x.shape(2) / heads;
  std::vector<Array> parts = ts::split(block.qkv(x).reshape(b, t, heads, 3 * d), 3, 3);
  Array scores = ts::einsum("bqhd,bkhd->bhqk", {parts[0], parts[1]}) / std::sqrt(double(d));
  Array mask = ts::tril(ts::ones({t, t}, ts::bool_));
  Array weights = nn::softmax(ts::where(mask, scores, -1e9));
  Array mixed = ts::einsum("bhqk,bkhd->bqhd", {weights, parts[2]});
  return block.project(mixed.reshape(b, t, heads * d));
}

}  // namespace

Array logits(const Gpt& model, Array ids, const ModelOptions& options) {
  auto placed = [&](Array x) {
    return options.stream ? ts::with_sharding_constraint(x, *options.stream) : x;
  };
  auto apply = [&](const Block& block, Array x) {
    x = placed(x + attend(block, block.norm1(x), model.heads));
    return placed(x + block.down(nn::gelu(block.up(block.norm2(x)))));
  };
  Array x = placed(model.tokens(ids) + model.positions.weight);
  for (const Block& block : model.blocks)
    x = options.recompute ? ts::remat(apply)(block, x) : apply(block, x);
  return model.head(model.norm(x));
}

Array loss(const Gpt& model, Array ids, Array labels, const ModelOptions& options) {
  return ts::mean(
      nn::softmax_cross_entropy_with_integer_labels(logits(model, ids, options), labels));
}

}  // namespace fsdp_transformer
