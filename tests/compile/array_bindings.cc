// expect: tessera: write auto \[a, b\] = x.unpack<2>\(\)|decomposes into 1 element
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array x) {
  auto [first, second] = x;
  return first + second;
}
