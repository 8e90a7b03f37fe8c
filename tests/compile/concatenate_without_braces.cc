// expect: tessera: several arrays go in braces: concatenate({x, y})
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array x, Array y) { return ts::concatenate(x, y); }
