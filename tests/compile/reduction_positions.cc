// expect: tessera: several axes go in braces, and options have names: sum(x, {0, 1})
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array x) { return ts::sum(x, 0, 1); }
