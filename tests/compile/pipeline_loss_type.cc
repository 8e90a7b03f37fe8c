// expect: tessera: the loss of a pipeline takes (activation, targets), or (activation, targets, head), and returns an Array
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array p, Array x) {
  return ts::pipeline_value_and_grad([](Array w, Array h) { return h * w; },
                                     [](Array y, Array t) { return std::pair(ts::sum(y), t); },
                                     {.microbatches = 4})(p, x, x);
}
