// expect: tessera: the body of while_loop returns another type than it takes
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::while_loop([](Array c) { return c > 0; }, [](Array c) { return std::pair(c, c); }, x);
}
