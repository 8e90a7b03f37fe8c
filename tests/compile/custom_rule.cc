// expect: tessera: the rule of custom_jvp takes (args..., tangents...) and returns
// std::pair(result, tangent)
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) {
  return ts::custom_jvp([](Array y) { return y; }, [](Array, Array dy) { return dy; })(x);
}
