// Measures how long it takes to propagate placements through an unrolled deep network, forward and
// backward, of about 100,000 equations, on small and on large meshes. The time must depend on the
// program alone.
#include "deep_network.h"

#include <string>

using namespace tessera;
using namespace tessera::spmd;

namespace {

void measure(int blocks, bool other) {
  const ProgramPtr p = deep::gradient(blocks, other);
  const auto last_weights = static_cast<std::size_t>(4 * blocks);
  std::printf("%-14s %9s %9s %9s %9s %9s\n", "mesh", "ms", "nodes", "changes", "visits",
              "questions");
  for (auto [x, y] : {std::pair{2, 2}, {4, 4}, {64, 64}, {4096, 256}}) {
    const AtomMesh mesh({{"x", "y"}, {x, y}});
    PropagationOptions options;
    options.inputs = deep::placements(blocks, mesh);
    Propagation::Effort effort;
    std::string last;
    const double best = deep::shortest_ms(7, [&] {
      const Propagation made = propagate(*p, mesh, options);
      effort = made.effort();
      last = mesh.to_string(made.input(last_weights));
    });
    const std::string name = std::to_string(x) + " x " + std::to_string(y);
    std::printf("%-14s %9.1f %9zu %9zu %9zu %9zu   last weights %s\n", name.c_str(), best,
                effort.nodes, effort.changes, effort.visits, effort.questions, last.c_str());
  }
}

}  // namespace

int main(int count, char** words) { return deep::measure_networks(count, words, measure); }
