// expect: tessera: an argument does not convert to the parameter
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f() {
  return ts::jit([](Array y) { return y; })(std::string("abc"));
}
