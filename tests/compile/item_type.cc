// expect: tessera: say what C++ type to read the element as: x.item<float>()
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

double f(Array x) { return x.item(); }
