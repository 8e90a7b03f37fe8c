// expect: tessera: the function takes fewer arguments than it is called with
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::jit([](Array y) { return y; })(x, x);
}
