// expect: tessera: vmap has no option of this name; its options, in this order: in_axes, out_axes
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::vmap([](Array y) { return y; }, {.in_dims = 0})(x);
}
