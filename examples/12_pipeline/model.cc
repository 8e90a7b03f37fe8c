#include "cells.h"

namespace pipeline_example {

Array block(const Block& p, Array x) {
  return x + ts::dot(ts::nn::gelu(ts::dot(x, p.up) + p.bias), p.down);
}

Block init_blocks(Array key, std::int64_t width, std::int64_t hidden) {
  auto init = [=](Array k) {
    auto [up_key, down_key] = ts::random::split<2>(k);
    return Block{ts::random::normal(up_key, {width, hidden}) * 0.2, ts::zeros({hidden}),
                 ts::random::normal(down_key, {hidden, width}) * 0.1};
  };
  return ts::vmap(init)(ts::random::split(key, kBlocks));
}

Array network(const Block& blocks, Array x) {
  auto next = [](Array h, const Block& p) { return std::pair(block(p, h), std::tuple<>()); };
  return ts::scan(next, x, blocks).first;
}

Array loss_fn(Array y, Array target) { return ts::mean(ts::square(y - target)); }

Batch make_batch(Array key) {
  auto [x_key, layer_key] = ts::random::split<2>(key);
  Array x = ts::random::normal(x_key, {kRows, kWidth});
  Array layer = ts::random::normal(layer_key, {kWidth, kWidth}) / 4;
  return {x, ts::tanh(ts::dot(x, layer))};
}

}  // namespace pipeline_example
