// expect: tessera: a function to differentiate returns an Array, or a pair of an Array and
// auxiliary results
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::grad([](Array y) { return std::tuple(y, y); })(x);
}
