// expect: tessera: several axes go in braces: x.sum({0, 1})
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array x) { return x.sum(0, 1); }
