// expect: tessera: the function takes another number of arguments than it is given here
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::scan([](Array c) { return std::pair(c, c); }, x, x);
}
