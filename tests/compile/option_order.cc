// expect: declaration order
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::pmap([](Array y) { return y; }, {.in_axes = 0, .axis_name = "i"})(x);
}
