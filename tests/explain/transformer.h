// A training step of a transformer whose layers are unrolled or the iterations of a scan: loss,
// gradients and update. Parameters are abstract, so nothing is allocated.
#pragma once

#include <tessera/tessera.h>

#include <cmath>
#include <utility>
#include <vector>

namespace transformer {

namespace ts = tessera;
using ts::Array;

struct Sizes {
  std::int64_t layers = 48, width = 8192, heads = 64, sequence = 2048, batch = 256,
               vocabulary = 51200;
};

struct Block {
  Array norm1, query, key, value, out, norm2, up, down;
};
template <class Blocks>
struct Model {
  Array embedding;
  Blocks blocks;
  Array norm, head;
};

inline Array normed(Array x, Array scale) {
  return x * ts::rsqrt(ts::mean(ts::square(x), -1, true) + 1e-6f) * scale;
}

inline Array apply(const Block& b, Array x, std::int64_t heads) {
  const std::int64_t n = x.shape(0), t = x.shape(1), d = x.shape(2) / heads;
  const Array y = normed(x, b.norm1);
  const auto split = [&](Array w) { return ts::dot(y, w).reshape(n, t, heads, d); };
  const Array scores = ts::einsum("bqhd,bkhd->bhqk", {split(b.query), split(b.key)}) *
                       (1.0f / std::sqrt(static_cast<float>(d)));
  const Array mask = ts::tril(ts::ones({t, t}, ts::bool_));
  const Array weights = ts::nn::softmax(ts::where(mask, scores, -1e9f));
  const Array seen = ts::einsum("bhqk,bkhd->bqhd", {weights, split(b.value)});
  x = x + ts::dot(seen.reshape(n, t, heads * d), b.out);
  return x + ts::dot(ts::nn::gelu(ts::dot(normed(x, b.norm2), b.up)), b.down);
}

inline Array through(const std::vector<Block>& blocks, Array x, std::int64_t heads) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto scope = ts::named_scope("layer_" + std::to_string(i));
    x = apply(blocks[i], x, heads);
  }
  return x;
}
inline Array through(const Block& stacked, Array x, std::int64_t heads) {
  return ts::scan(
             [heads](Array carry, Block b) { return std::pair(apply(b, carry, heads), Array()); },
             x, stacked)
      .first;
}

/// A step of plain gradient descent, which returns the new model and the loss.
template <class Blocks>
auto step_of(std::int64_t heads) {
  return [heads](Model<Blocks> m, Array ids, Array labels) {
    const auto loss = [heads](const Model<Blocks>& p, Array in, Array want) {
      const Array x = through(p.blocks, ts::take(p.embedding, in, 0), heads);
      return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(
          ts::dot(normed(x, p.norm), p.head), want));
    };
    auto [l, g] = ts::value_and_grad(loss)(m, ids, labels);
    return std::pair(ts::tree::map([](Array p, Array d) { return p - 1e-3f * d; }, m, g), l);
  };
}

inline Block block(const Sizes& s, std::int64_t stacked) {
  const auto make = [&](std::vector<std::int64_t> shape) {
    if (stacked > 0) shape.insert(shape.begin(), stacked);
    return ts::abstract(ts::f32, ts::Shape(shape));
  };
  const std::int64_t w = s.width;
  return {make({w}),    make({w, w}), make({w, w}),     make({w, w}),
          make({w, w}), make({w}),    make({w, 4 * w}), make({4 * w, w})};
}
inline Model<std::vector<Block>> written_out(const Sizes& s) {
  Model<std::vector<Block>> m{ts::abstract(ts::f32, {s.vocabulary, s.width}),
                              {},
                              ts::abstract(ts::f32, {s.width}),
                              ts::abstract(ts::f32, {s.width, s.vocabulary})};
  for (std::int64_t i = 0; i < s.layers; ++i) m.blocks.push_back(block(s, 0));
  return m;
}
inline Model<Block> scanned(const Sizes& s) {
  return {ts::abstract(ts::f32, {s.vocabulary, s.width}), block(s, s.layers),
          ts::abstract(ts::f32, {s.width}), ts::abstract(ts::f32, {s.width, s.vocabulary})};
}
inline Array ids(const Sizes& s) { return ts::abstract(ts::i32, {s.batch, s.sequence}); }

/// Shards the rows of the batch over "data", and heads and hidden features over "model".
template <class Blocks>
ts::SpecTree specs(const Model<Blocks>& m) {
  using ts::none;
  using ts::P;
  const bool stacked = std::is_same_v<Blocks, Block>;
  const auto in = stacked ? P(none, none, "model") : P(none, "model");
  const auto out = stacked ? P(none, "model") : P("model");
  return ts::specs(m, {{"**/query", in},
                       {"**/key", in},
                       {"**/value", in},
                       {"**/out", out},
                       {"**/up", in},
                       {"**/down", out},
                       {"embedding", P(none, "model")},
                       {"head", P(none, "model")},
                       {"**", P()}});
}

/// Plans a step on a mesh of "data" and "model".
template <class Blocks>
ts::Plan plan(const Model<Blocks>& m, const Sizes& s, const ts::Mesh& mesh,
              const ts::PlanOptions& options = {}) {
  auto step =
      ts::jit(step_of<Blocks>(s.heads), {.mesh = mesh,
                                         .in_shardings = {specs(m), ts::P("data"), ts::P("data")},
                                         .out_shardings = {specs(m), ts::P()},
                                         .name = "transformer step"});
  return step.lower(m, ids(s), ids(s)).plan(options);
}

}  // namespace transformer
