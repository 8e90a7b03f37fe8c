// expect: tessera: the function returns nothing: a transformed function returns arrays
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array w, Array x) {
  return ts::pmap([](Array w, Array x) {
    auto g = ts::grad([&](Array w) { return ts::sum(w * x); })(w);
    w = w - ts::pmean(g, "i");
  })(w, x);
}
