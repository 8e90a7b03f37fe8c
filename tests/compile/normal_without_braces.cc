// expect: tessera: a shape goes in braces: random::normal(key, {2, 3})
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f(Array key) { return ts::random::normal(key, 3, 4); }
