// expect: PmapOptions
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::pmap([](Array y) { return y; }, {.axsi_name = "i"})(x);
}
