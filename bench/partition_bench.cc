// Measures how long it takes to partition an unrolled deep network, forward and backward, of about
// 100,000 equations, on small and on large meshes. The time must depend on the program alone.
#include "deep_network.h"
#include "spmd/partition/partition.h"
#include "transform/autodiff.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

using namespace tessera;
using namespace tessera::spmd;

namespace {

void measure(int blocks, bool other) {
  const ProgramPtr forward = deep::network(blocks, other);
  const ProgramPtr p = vjp_program(*forward, std::vector<bool>(forward->inputs.size(), true));
  std::printf("%zu equations, %zu inputs\n", p->equations.size(), p->inputs.size());
  std::printf("%-14s %9s %9s %12s\n", "mesh", "ms", "body", "collectives");
  for (auto [x, y] : {std::pair{2, 2}, {4, 4}, {64, 64}}) {
    const MeshRef mesh(DeviceMesh{{{"x", "y"}, {x, y}}, {}});
    const AtomMesh axes(*mesh, AtomMesh::Parts::axes);
    // Rows are sharded over x; the first layer's columns and the second layer's rows over y.
    PartitionOptions options;
    auto asked = [&](const Spec& spec, int rank) {
      return RequestedPlacement{axes.placement(spec, rank)};
    };
    options.wanted.inputs = {asked(Spec({{"x"}}), 2), std::nullopt, asked(Spec({{}, {"y"}}), 2)};
    for (int k = 1; k < blocks; ++k) {
      options.wanted.inputs.resize(options.wanted.inputs.size() + 4);
      options.wanted.inputs[static_cast<std::size_t>(4 * k) + 2] = options.wanted.inputs[2];
    }
    double best = 1e9;
    std::size_t size = 0;
    std::map<std::string, int> kinds;
    for (int run = 0; run < 3; ++run) {
      const auto start = std::chrono::steady_clock::now();
      const Partitioned made = partition(p, mesh, options);
      best = std::min(
          best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                    .count());
      size = made.program->equations[0].attrs.program("body")->equations.size();
      kinds.clear();
      for (const CollectiveCause& c : made.collectives) ++kinds[name_of(c.kind)];
    }
    const std::string name = std::to_string(x) + " x " + std::to_string(y);
    std::printf("%-14s %9.1f %9zu", name.c_str(), best, size);
    for (const auto& [kind, n] : kinds) std::printf("  %d %s", n, kind.c_str());
    std::printf("\n");
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
