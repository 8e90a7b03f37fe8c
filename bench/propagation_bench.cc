// Measures how long it takes to propagate placements through an unrolled deep network, forward and
// backward, of about 100,000 equations, on small and on large meshes. The time must depend on the
// program alone.
#include "deep_network.h"
#include "spmd/propagate/propagate.h"
#include "transform/autodiff.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace tessera;
using namespace tessera::spmd;

namespace {

void measure(int blocks, bool other) {
  const ProgramPtr forward = deep::network(blocks, other);
  const ProgramPtr p = vjp_program(*forward, std::vector<bool>(forward->inputs.size(), true));
  std::printf("%zu equations, %zu inputs\n", p->equations.size(), p->inputs.size());
  std::printf("%-14s %9s %9s %9s %9s %9s\n", "mesh", "ms", "nodes", "changes", "visits",
              "questions");
  for (auto [x, y] : {std::pair{2, 2}, {4, 4}, {64, 64}, {4096, 256}}) {
    const AtomMesh mesh({{"x", "y"}, {x, y}});
    // Rows are sharded over x; the first layer's columns and the second layer's rows over y, in the
    // first block only: propagation reaches the others.
    PropagationOptions options;
    auto asked = [&](const Spec& spec, int rank) {
      return RequestedPlacement{mesh.placement(spec, rank)};
    };
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
