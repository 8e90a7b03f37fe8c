// expect: tessera: a shape goes in braces: reshape(x, {2, 3})
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array x) { return ts::reshape(x, 3, 4); }
