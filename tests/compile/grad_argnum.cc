// expect: tessera: the arguments to differentiate are template arguments: grad<1>(f), grad<0, 1>(f)
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::grad([](Array y, Array z) { return y * z; }, 1)(x, x);
}
