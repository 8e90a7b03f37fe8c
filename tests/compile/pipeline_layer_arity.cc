// expect: tessera: a layer of a pipeline takes (parameters, activation): trees of arrays, as the pipeline is called with
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array p, Array x) {
  return ts::pipeline([](auto w, auto h, auto more) { return h * w + more; }, {.microbatches = 4})(
      p, x);
}
