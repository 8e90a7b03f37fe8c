// The precision of products on other platforms than the CPU.
#include "platforms/compile.h"

#include <tessera/platform.h>

#include <atomic>

namespace tessera::inline v0 {

namespace {
// The process has one, because it is its user's.
std::atomic<MatmulPrecision> g_precision{MatmulPrecision::highest};
}  // namespace

void set_matmul_precision(MatmulPrecision precision) { g_precision = precision; }
MatmulPrecision matmul_precision() { return g_precision; }

std::string platforms::precision_text() {
  switch (matmul_precision()) {
    case MatmulPrecision::fastest: return "DEFAULT";
    case MatmulPrecision::high: return "HIGH";
    case MatmulPrecision::highest: break;
  }
  return "HIGHEST";
}
unsigned platforms::precision_mode() { return static_cast<unsigned>(matmul_precision()); }

}  // namespace tessera::inline v0
