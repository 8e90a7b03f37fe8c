// expect: tessera: a shape goes in braces: zeros({2, 3})
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f() { return ts::zeros(2, 3); }
