// expect: tessera: pipeline_value_and_grad differentiates the parameters, 0, and besides them the batch, 1, and the head, 3
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array p, Array x) {
  return ts::pipeline_value_and_grad<1>([](Array w, Array h) { return h * w; },
                                        [](Array y, Array t) { return ts::sum(y * t); },
                                        {.microbatches = 4})(p, x, x);
}
