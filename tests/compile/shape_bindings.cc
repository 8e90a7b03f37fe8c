// expect: tessera: write auto \[a, b\] = x.shape\(\).unpack<2>\(\)|decomposes into 4 elements
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

std::int64_t f(Array x) {
  auto [rows, columns] = x.shape();
  return rows * columns;
}
