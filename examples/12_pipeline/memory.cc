#include "cells.h"

namespace pipeline_example {

std::vector<Memory> memory_by_microbatches(const Mesh& grid) {
  constexpr std::int64_t width = 64, hidden = 128, rows = 32;
  const Block blocks{ts::abstract(ts::f32, {kBlocks, width, hidden}),
                     ts::abstract(ts::f32, {kBlocks, hidden}),
                     ts::abstract(ts::f32, {kBlocks, hidden, width})};
  std::vector<Memory> all;
  for (std::int64_t m : {4, 8, 16, 32}) {
    const Array x = ts::abstract(ts::f32, {grid.size("data") * m * rows, width});
    auto training = [&](Schedule schedule) {
      return ts::jit(
                 ts::pipeline_value_and_grad(
                     block, loss_fn,
                     {.mesh = grid, .microbatches = m, .schedule = schedule, .batch_axis = "data"}))
          .lower(blocks, x, x)
          .memory()
          .temporaries;
    };
    auto gradient = [&](bool checkpoint) {
      auto pipelined = ts::pipeline(
          block, {.mesh = grid, .microbatches = m, .batch_axis = "data", .remat = checkpoint});
      return ts::jit(ts::value_and_grad([=](const Block& p, Array in, Array t) {
               return loss_fn(pipelined(p, in), t);
             }))
          .lower(blocks, x, x)
          .memory()
          .temporaries;
    };
    all.push_back({m, training(Schedule::gpipe), training(Schedule::one_f_one_b), gradient(false),
                   gradient(true)});
  }
  return all;
}

}  // namespace pipeline_example
