// expect: tessera: the function returns nothing: a transformed function returns arrays (or a tree
// of them)
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

void f(const Array& x) {
  ts::jit([](Array y) { y = y + 1; })(x);
}
