// expect: deleted
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

void f(Array x, Array y) { x[0] = y; }
