// expect: tessera: an argument is no tree
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::jit([](std::shared_ptr<int>, Array y) { return y; })(std::make_shared<int>(3), x);
}
