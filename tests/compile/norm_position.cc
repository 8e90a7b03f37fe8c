// expect: tessera: an axis and an order are named: norm(x, {.axis = 1}), norm(x, {.ord = 1})
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array x) { return ts::norm(x, 1); }
