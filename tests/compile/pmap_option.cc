// expect: tessera: pmap has no option of this name; its options, in this order: axis_name, in_axes
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::pmap([](Array y) { return y; }, {.axis = "i", .in_axes = {0, ts::replicated}})(x);
}
