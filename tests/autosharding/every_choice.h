// All ways to shard some arrays over a mesh, as specs. The caller plans each of them separately.
#pragma once

#include <tessera/tessera.h>

#include <algorithm>
#include <vector>

namespace every_choice {

namespace ts = tessera;

/// All specs of one array: each mesh axis shards one dimension or none. Axes of a dimension are in
/// the order of the mesh, and must divide it.
inline std::vector<ts::PartitionSpec> of(const ts::Shape& shape, const ts::Mesh& mesh) {
  std::vector<std::vector<int>> dims{{}};
  for (std::size_t a = 0; a < mesh.axes().size(); ++a) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& d : dims)
      for (int k = -1; k < shape.rank(); ++k) {
        longer.push_back(d);
        longer.back().push_back(k);
      }
    dims = longer;
  }
  std::vector<ts::PartitionSpec> all;
  for (const std::vector<int>& where : dims) {
    std::vector<std::vector<std::string>> axes(static_cast<std::size_t>(shape.rank()));
    std::vector<std::int64_t> parts(axes.size(), 1);
    for (std::size_t a = 0; a < where.size(); ++a)
      if (where[a] >= 0) {
        axes[static_cast<std::size_t>(where[a])].push_back(mesh.axes()[a].name);
        parts[static_cast<std::size_t>(where[a])] *= mesh.axes()[a].size;
      }
    bool divides = true;
    for (std::size_t d = 0; d < parts.size(); ++d) divides = divides && shape[d] % parts[d] == 0;
    if (!divides) continue;
    std::vector<ts::PartitionSpec::Dim> spec(axes.begin(), axes.end());
    all.push_back(ts::PartitionSpec(spec));
  }
  return all;
}

/// Calls f with one spec per array, for all combinations.
template <class F>
void for_each(const std::vector<ts::Shape>& shapes, const ts::Mesh& mesh, F&& f) {
  std::vector<std::vector<ts::PartitionSpec>> ways;
  for (const ts::Shape& s : shapes) ways.push_back(of(s, mesh));
  std::vector<std::size_t> at(ways.size());
  for (;;) {
    std::vector<ts::PartitionSpec> specs;
    for (std::size_t i = 0; i < at.size(); ++i) specs.push_back(ways[i][at[i]]);
    f(specs);
    std::size_t i = 0;
    while (i < at.size() && at[i] + 1 == ways[i].size()) at[i++] = 0;
    if (i == at.size()) return;
    ++at[i];
  }
}

/// Options for a plan of figures only.
inline ts::PlanOptions bare(bool memory = false) {
  ts::PlanOptions options;
  options.memory = memory;
  options.alternatives = 0;
  return options;
}

// The relative difference allowed between sums of the same seconds in another order.
inline constexpr double kSame = 1e-12;

/// Speeds at which neither work nor communication is negligible.
inline ts::PlanOptions speeds() {
  ts::PlanOptions options = bare();
  options.peak_flops = 1e11;
  options.memory_bandwidth = 2e10;
  options.other_links = {1e-6, 5e9};
  return options;
}

struct Best {
  double seconds = 1e300;
  int choices = 0;
};

/// Plans all choices by jit; returns the time of the best, and their number. `carried` is, for each
/// result, the argument whose sharding it has, or -1.
template <class F, class... A>
Best brute_force(const ts::Mesh& mesh, const std::vector<int>& carried, F f, A... args) {
  Best best;
  for_each({args.shape()...}, mesh, [&](const std::vector<ts::PartitionSpec>& specs) {
    std::vector<ts::SpecTree> out;
    for (int i : carried)
      out.push_back(i < 0 ? ts::SpecTree(ts::unconstrained)
                          : ts::SpecTree(specs[static_cast<std::size_t>(i)]));
    const auto program = ts::jit(
        f,
        {.mesh = mesh,
         .in_shardings = std::vector<ts::SpecTree>(specs.begin(), specs.end()),
         .out_shardings = carried.empty() ? ts::SpecTree(ts::unconstrained) : ts::SpecTree(out)});
    best.seconds = std::min(best.seconds, program.lower(args...).plan(speeds()).seconds());
    ++best.choices;
  });
  return best;
}

}  // namespace every_choice
