// expect: 3 names
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array key) {
  auto [a, b, c] = ts::random::split(key);
  return a + b + c;
}
