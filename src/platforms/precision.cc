// Settings of programs on other platforms than the CPU: the precision of products, where
// factorisations run, and who partitions.
#include "base/settings.h"
#include "platforms/compile.h"

#include <tessera/platform.h>

#include <atomic>

namespace tessera::inline v0 {

namespace {
// The process has one, because it is its user's.
std::atomic<MatmulPrecision> g_precision{MatmulPrecision::highest};
std::atomic<Partitioner> g_partitioner{Partitioner::tessera};
std::atomic<int> g_factorisations{-1};  // -1: as the environment says
}  // namespace

void set_matmul_precision(MatmulPrecision precision) { g_precision = precision; }
MatmulPrecision matmul_precision() { return g_precision; }

void set_factorisations(Factorisations where) { g_factorisations = static_cast<int>(where); }
Factorisations factorisations() {
  if (const int set = g_factorisations; set >= 0) return static_cast<Factorisations>(set);
  return settings::text("TESSERA_FACTORISATIONS") == "host" ? Factorisations::on_host
                                                            : Factorisations::on_platform;
}

void set_partitioner(Partitioner which) { g_partitioner = which; }
Partitioner partitioner() { return g_partitioner; }

std::string platforms::precision_text() {
  switch (matmul_precision()) {
    case MatmulPrecision::fastest: return "DEFAULT";
    case MatmulPrecision::high: return "HIGH";
    case MatmulPrecision::highest: break;
  }
  return "HIGHEST";
}
unsigned platforms::compile_mode() {
  return static_cast<unsigned>(matmul_precision()) +
         (factorisations() == Factorisations::on_host ? 4u : 0u) +
         (partitioner() == Partitioner::platform ? 8u : 0u);
}

}  // namespace tessera::inline v0
