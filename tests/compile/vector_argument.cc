// expect: tessera: an argument does not convert to the parameter
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(const std::vector<float>& values) {
  return ts::jit([](Array x) { return x; })(values);
}
