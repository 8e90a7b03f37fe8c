// expect: tessera: a field of this tree is a C array, or a reference; hold std::array, or a value
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

struct Model {
  Array w[3];
};
auto f(const Model& m) { return ts::tree::leaves(m); }
