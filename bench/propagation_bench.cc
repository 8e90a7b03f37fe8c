// How long placements take to go through a deep network that is written out, forward and backward:
// about 100,000 equations, on small and on large meshes. The time has to depend on the program alone.
#include "ir/op.h"
#include "ops/build.h"
#include "spmd/propagate.h"
#include "transform/autodiff.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace tessera;
using namespace tessera::spmd;

namespace {

constexpr std::int64_t kBatch = 8192, kWidth = 4096, kHidden = 16384, kStep = 4096;

Value matmul(Value x, Value y) { return ops::dot_general(x, y, {{1}, {0}, {}, {}}); }
Value wide(Value row, Value like, int dim) {
  return ops::broadcast_in_dim(row, like.shape(), {dim});
}

// A block of a network: normalised rows, two layers, and what came in.
Value block(Value x, Value scale, Value w1, Value b1, Value w2) {
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

// Inputs: rows, then the weights of each block. `other`: each block has a width of its own.
ProgramPtr network(int blocks, bool other) {
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

void measure(int blocks, bool other) {
  const ProgramPtr forward = network(blocks, other);
  const ProgramPtr p = vjp_program(*forward, std::vector<bool>(forward->inputs.size(), true));
  std::printf("%zu equations, %zu inputs\n", p->equations.size(), p->inputs.size());
  std::printf("%-14s %9s %9s %9s %9s %9s\n", "mesh", "ms", "nodes", "changes", "visits",
              "questions");
  for (auto [x, y] : {std::pair{2, 2}, {4, 4}, {64, 64}, {4096, 256}}) {
    const AtomMesh mesh({{"x", "y"}, {x, y}});
    // Rows over x; the first layer's columns and the second's rows over y, of the first block alone:
    // the others follow.
    PropagationOptions options;
    auto asked = [&](const Spec& spec, int rank) { return Wanted{mesh.placement(spec, rank)}; };
    options.inputs = {asked(Spec({{"x"}}), 2), std::nullopt, asked(Spec({{}, {"y"}}), 2)};
    for (int k = 1; k < blocks; ++k) {
      options.inputs.resize(options.inputs.size() + 4);
      options.inputs[static_cast<std::size_t>(4 * k) + 2] = options.inputs[2];
    }
    double best = 1e9;
    Propagation::Effort effort;
    std::string last;
    for (int run = 0; run < 7; ++run) {
      const auto start = std::chrono::steady_clock::now();
      const Propagation made = propagate(*p, mesh, options);
      best = std::min(
          best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                    .count());
      effort = made.effort();
      last = mesh.to_string(made.input(forward->inputs.size() - 1));
    }
    const std::string name = std::to_string(x) + " x " + std::to_string(y);
    std::printf("%-14s %9.1f %9zu %9zu %9zu %9zu   last weights %s\n", name.c_str(), best,
                effort.nodes, effort.changes, effort.visits, effort.questions, last.c_str());
  }
}

}  // namespace

int main(int count, char** words) {
  const int blocks = count > 1 ? std::atoi(words[1]) : 1613;
  std::printf("blocks alike\n");
  measure(blocks, false);
  std::printf("\nblocks of different widths\n");
  measure(blocks, true);
  return 0;
}
