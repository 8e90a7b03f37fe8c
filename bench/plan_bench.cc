// Measures how long it takes to plan a training step of a transformer for a mesh of any size, and
// how large the plan is. No parameter is allocated.
#include "explain/transformer.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace ts = tessera;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class M>
void measure(const char* name, const M& model, const transformer::Sizes& s, bool tables,
             const std::string& page) {
  const ts::Mesh mesh = ts::Mesh::abstract({{"data", 64}, {"model", 64}});
  std::printf("%-12s", name);
  for (const auto& [memory, alternatives] : {std::pair{false, 0}, {true, 0}, {false, 12}}) {
    ts::PlanOptions options;
    options.memory = memory;
    options.alternatives = alternatives;
    const double begin = now();
    const ts::Plan plan = transformer::plan(model, s, mesh, options);
    std::printf("  %s%s%.2f s", memory ? "with memory " : "", alternatives ? "with advice " : "",
                now() - begin);
  }
  const ts::Plan plan = transformer::plan(model, s, mesh);
  const std::string json = ts::to_json(plan);
  std::printf("  %zu equations, %zu collectives, %.1f MB of JSON, %lld B of arrays live\n",
              plan.equations.size(), plan.collectives.size(),
              1e-6 * static_cast<double>(json.size()),
              static_cast<long long>(ts::physical_memory_stats().peak));
  if (tables) std::cout << plan;
  if (!page.empty()) ts::save_html(plan, page + "/" + name + ".html");
}

}  // namespace

int main(int count, char** words) {
  transformer::Sizes s;
  if (count > 1) s.layers = std::atoll(words[1]);
  const bool tables = count > 2 && std::strcmp(words[2], "table") == 0;
  const std::string page = count > 3 ? words[3] : "";
  std::printf("%lld layers, 64 x 64 devices\n", static_cast<long long>(s.layers));
  measure("scan", transformer::scanned(s), s, tables, page);
  measure("written out", transformer::written_out(s), s, tables, page);
}
