// expect: tessera: write x = x.at(0).set(y)
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

void f(Array x) { x[0] = 5; }
