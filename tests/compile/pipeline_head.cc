// expect: tessera: a pipeline is trained on (params, x, targets), or (params, x, targets, head) for a loss that takes a head
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array p, Array x) {
  return ts::pipeline_value_and_grad<0, 3>([](Array w, Array h) { return h * w; },
                                           [](Array y, Array t) { return ts::sum(y * t); },
                                           {.microbatches = 4})(p, x, x);
}
