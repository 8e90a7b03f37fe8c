// expect: tessera: the arguments to differentiate are template arguments: value_and_grad<1>(f)
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::value_and_grad([](Array y, Array z) { return y * z; }, {0, 1})(x, x);
}
