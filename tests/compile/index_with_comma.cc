// expect: tessera: an index of several axes goes in parentheses: x(all, 0)
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array x, int i) { return x[ts::all, i]; }
