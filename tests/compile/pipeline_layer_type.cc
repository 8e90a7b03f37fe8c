// expect: tessera: a layer of a pipeline takes (parameters, activation) and returns an activation of the same type
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array p, Array x) {
  return ts::pipeline([](Array w, Array h) { return std::pair(h * w, h); }, {.microbatches = 4})(p,
                                                                                                 x);
}
