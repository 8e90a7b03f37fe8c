#include "cells.h"

#include <algorithm>

namespace pipeline_example {

Meshes make_meshes() {
  const std::int64_t n = ts::device_count(), stages = std::min<std::int64_t>(n, 4);
  return {Mesh({{"data", n}}), Mesh({{"data", n / stages}, {"stage", stages}})};
}

std::vector<Way> ways(const Meshes& meshes, std::int64_t microbatches) {
  auto whole = [](const Block& p, Array x, Array t) { return loss_fn(network(p, x), t); };

  // Each device has all blocks and its own rows. The specs imply that gradients are added up.
  auto data_parallel = ts::shard_map(
      [](const Block& p, Array x, Array t) { return ts::pmean(loss_fn(network(p, x), t), "data"); },
      {.mesh = meshes.line, .in_specs = {P(), P("data"), P("data")}, .out_specs = P()});

  // Each device has its own blocks, and its rows arrive in microbatches.
  const ts::PipelineOptions gpipe{.mesh = meshes.grid,
                                  .microbatches = microbatches,
                                  .schedule = Schedule::gpipe,
                                  .batch_axis = "data"};
  ts::PipelineOptions one_f_one_b = gpipe;
  one_f_one_b.schedule = Schedule::one_f_one_b;

  // The network as a pipeline, for any function of its result and for its derivative.
  auto pipelined = ts::pipeline(block, gpipe);
  auto through = [=](const Block& p, Array x, Array t) { return loss_fn(pipelined(p, x), t); };

  return {{"one device", ts::jit(ts::value_and_grad(whole))},
          {"data parallel", ts::jit(ts::value_and_grad(data_parallel))},
          {"GPipe", ts::jit(ts::pipeline_value_and_grad(block, loss_fn, gpipe))},
          {"1F1B", ts::jit(ts::pipeline_value_and_grad(block, loss_fn, one_f_one_b))},
          {"grad of pipeline", ts::jit(ts::value_and_grad(through))}};
}

Run train(const Way& way, int steps, double rate) {
  Run run{{}, init_blocks(ts::random::key(0))};
  const Batch batch = make_batch(ts::random::key(1));
  auto update = ts::jit([](const Block& p, const Block& g, Array r) {
    return ts::tree::map([&](Array x, Array dx) { return x - r * dx; }, p, g);
  });
  for (int i = 0; i < steps; ++i) {
    auto [loss, gradients] = way.step(run.blocks, batch.x, batch.target);
    run.blocks = update(run.blocks, gradients, rate);
    run.losses.push_back(ts::item<float>(loss));
  }
  return run;
}

}  // namespace pipeline_example
