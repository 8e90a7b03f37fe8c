// expect: tessera: the branches return different types; all need to return the same tree type
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::cond(
      x, [&] { return x; }, [&] { return std::pair(x, x); });
}
