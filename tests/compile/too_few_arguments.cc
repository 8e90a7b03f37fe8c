// expect: tessera: the function cannot be called with these arguments: it takes another number
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::jit([](Array y, Array z) { return y + z; })(x);
}
