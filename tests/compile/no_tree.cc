// expect: tessera: this type is no tree
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

struct Model {
  Array w;
  std::unique_ptr<int> p;
};
auto f(const Model& m) { return ts::tree::leaves(m); }
