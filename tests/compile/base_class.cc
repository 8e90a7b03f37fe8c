// expect: tessera: a struct with a base class is no tree; hold the base as a field, or register it
// with TESSERA_FIELDS
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

struct Base {
  Array w;
};
struct Model : Base {
  Array b;
};
auto f(const Model& m) { return ts::tree::leaves(m); }
