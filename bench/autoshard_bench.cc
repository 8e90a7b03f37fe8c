// Measures how long autoshard takes for a training step of a transformer, and prints the predicted
// time of its result next to those of the templates. No parameter is allocated.
#include "explain/transformer.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>

namespace ts = tessera;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class M>
void measure(const char* name, const M& model, const transformer::Sizes& s, const ts::Mesh& mesh,
             double memory_limit) {
  ts::AutoshardOptions options;
  options.mesh = mesh;
  options.memory_limit = static_cast<std::int64_t>(memory_limit);
  options.name = name;
  double begin = now();
  const std::clock_t core = std::clock();
  const auto step = transformer::step_of<decltype(model.blocks)>(s.heads);
  ts::AutoShardings found;
  try {
    found = ts::autoshard(step, options)(model, transformer::ids(s), transformer::ids(s));
  } catch (const ts::ShardingError& e) {  // nothing fits the memory limit
    std::printf("%.2f s\n%s\n\n", now() - begin, e.what());
    return;
  }
  std::printf("%.2f s, %.2f s of them on a core\n", now() - begin,
              static_cast<double>(std::clock() - core) / CLOCKS_PER_SEC);
  std::cout << found;
  begin = now();
  ts::PlanOptions bare;
  bare.memory = false;
  bare.alternatives = 0;
  const ts::Plan made = ts::jit(step, found.options())
                            .lower(model, transformer::ids(s), transformer::ids(s))
                            .plan(bare);
  const ts::Plan by_hand = transformer::plan(model, s, mesh, bare);
  std::printf("\nits plan: %.6g s; rows over 'data', heads and features over 'model': %.6g s\n\n",
              made.seconds(), by_hand.seconds());
}

}  // namespace

int main(int count, char** words) {
  transformer::Sizes s;
  s.layers = count > 1 ? std::atoll(words[1]) : 100;
  const double limit = count > 2 ? std::atof(words[2]) : 0;
  for (std::int64_t n : {std::int64_t{4}, std::int64_t{64}}) {
    const ts::Mesh mesh = ts::Mesh::abstract({{"data", n}, {"model", n}});
    std::printf("%lld layers, %lld x %lld devices\n", static_cast<long long>(s.layers),
                static_cast<long long>(n), static_cast<long long>(n));
    measure("scan", transformer::scanned(s), s, mesh, limit);
    measure("written out", transformer::written_out(s), s, mesh, limit);
  }
}
