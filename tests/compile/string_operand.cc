// expect: no match for .operator+.|invalid operands to binary expression
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(Array x) { return x + "abc"; }
