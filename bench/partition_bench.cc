// Measures how long it takes to partition an unrolled deep network, forward and backward, of about
// 100,000 equations, on small and on large meshes. The time must depend on the program alone.
#include "deep_network.h"
#include "spmd/partition/partition.h"

#include <map>
#include <string>

using namespace tessera;
using namespace tessera::spmd;

namespace {

void measure(int blocks, bool other) {
  const ProgramPtr p = deep::gradient(blocks, other);
  std::printf("%-14s %9s %9s %12s\n", "mesh", "ms", "body", "collectives");
  for (auto [x, y] : {std::pair{2, 2}, {4, 4}, {64, 64}}) {
    const MeshRef mesh(DeviceMesh{{{"x", "y"}, {x, y}}, {}});
    PartitionOptions options;
    options.wanted.inputs = deep::placements(blocks, AtomMesh(*mesh, AtomMesh::Parts::axes));
    std::size_t size = 0;
    std::map<std::string, int> kinds;
    const double best = deep::shortest_ms(3, [&] {
      const Partitioned made = partition(p, mesh, options);
      size = made.program->equations[0].attrs.program("body")->equations.size();
      kinds.clear();
      for (const CollectiveCause& c : made.collectives) ++kinds[name_of(c.kind)];
    });
    const std::string name = std::to_string(x) + " x " + std::to_string(y);
    std::printf("%-14s %9.1f %9zu", name.c_str(), best, size);
    for (const auto& [kind, n] : kinds) std::printf("  %d %s", n, kind.c_str());
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) { return deep::measure_networks(count, words, measure); }
