// expect: tessera: the body of scan returns std::pair(carry, y)
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::scan([](Array c, Array y) { return c + y; }, x, x);
}
