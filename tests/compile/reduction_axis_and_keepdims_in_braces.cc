// expect: no matching function for call to
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array x) { return ts::sum(x, {0, true}); }
