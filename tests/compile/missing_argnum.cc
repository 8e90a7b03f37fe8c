// expect: tessera: an argument to differentiate does not exist
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::grad<1>([](Array y) { return y; })(x);
}
