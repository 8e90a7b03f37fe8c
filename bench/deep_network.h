// A deep network whose blocks are separate equations, for benchmarks of algorithms that walk
// programs: the program, its placements, and the frame of such a benchmark.
#pragma once

#include "ir/op.h"
#include "ops/build.h"
#include "spmd/propagate/propagate.h"
#include "transform/autodiff.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

namespace deep {

using namespace tessera;

inline constexpr std::int64_t kBatch = 8192, kWidth = 4096, kHidden = 16384, kStep = 4096;

inline Value matmul(Value x, Value y) { return ops::dot_general(x, y, {{1}, {0}, {}, {}}); }
inline Value wide(Value row, Value like, int dim) {
  return ops::broadcast_in_dim(row, like.shape(), {dim});
}

// A block of the network: normalised rows and two layers, added to the input.
inline Value block(Value x, Value scale, Value w1, Value b1, Value w2) {
  Value size = ops::full(*x.builder, DType::float32, {kBatch}, kWidth);
  Value mean = ops::div(ops::reduce_sum(x, {1}), size);
  Value centred = ops::sub(x, wide(mean, x, 0));
  Value variance = ops::div(ops::reduce_sum(ops::mul(centred, centred), {1}), size);
  Value inverse = ops::rsqrt(ops::add(variance, ops::full_like(variance, 1e-5)));
  Value rows = ops::mul(ops::mul(centred, wide(inverse, x, 0)), wide(scale, x, 1));
  Value hidden = matmul(rows, w1);
  hidden = ops::add(hidden, wide(b1, hidden, 1));
  hidden = ops::mul(hidden, ops::logistic(hidden));
  return ops::add(x, matmul(hidden, w2));
}

// The inputs are the rows, then the weights of each block. `other`: each block has a different
// width.
inline ProgramPtr network(int blocks, bool other) {
  Builder b("network");
  const DType f = DType::float32;
  Value x = b.input(Type(f, {kBatch, kWidth}));
  for (int k = 0; k < blocks; ++k) {
    const std::int64_t hidden = kHidden + (other ? kStep * k : 0);
    Value scale = b.input(Type(f, {kWidth})), w1 = b.input(Type(f, {kWidth, hidden}));
    Value b1 = b.input(Type(f, {hidden})), w2 = b.input(Type(f, {hidden, kWidth}));
    x = block(x, scale, w1, b1, w2);
  }
  return b.finish(Values{ops::reduce_sum(ops::mul(x, x), {0, 1})});
}

// The gradient of the network. Prints its size.
inline ProgramPtr gradient(int blocks, bool other) {
  const ProgramPtr forward = network(blocks, other);
  ProgramPtr p = vjp_program(*forward, std::vector<bool>(forward->inputs.size(), true));
  std::printf("%zu equations, %zu inputs\n", p->equations.size(), p->inputs.size());
  return p;
}

// The rows are sharded over x, and the columns of each block's first layer over y. Nothing is asked
// of the second layers, whose rows propagation shards.
inline std::vector<std::optional<spmd::RequestedPlacement>> placements(int blocks,
                                                                       const spmd::AtomMesh& mesh) {
  const auto asked = [&](const Spec& spec) {
    return spmd::RequestedPlacement{mesh.placement(spec, 2)};
  };
  std::vector<std::optional<spmd::RequestedPlacement>> inputs(static_cast<std::size_t>(4 * blocks) -
                                                              1);
  inputs[0] = asked(Spec({{"x"}}));
  for (int k = 0; k < blocks; ++k)
    inputs[static_cast<std::size_t>(4 * k) + 2] = asked(Spec({{}, {"y"}}));
  return inputs;
}

// The milliseconds of the shortest of several runs.
template <class Run>
double shortest_ms(int runs, Run&& run) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto start = Clock::now();
    run();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

// The main() of a benchmark, whose argument is the number of blocks.
inline int measure_networks(int count, char** words, void (*measure)(int blocks, bool other)) {
  const int blocks = count > 1 ? std::atoi(words[1]) : 1613;
  std::printf("blocks alike\n");
  measure(blocks, false);
  std::printf("\nblocks of different widths\n");
  measure(blocks, true);
  return 0;
}

}  // namespace deep
