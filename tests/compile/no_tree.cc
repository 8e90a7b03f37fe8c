// expect: tessera: this type is no tree
#include <tessera/tessera.h>
#include <list>

namespace ts = tessera;
using ts::Array;

struct Model {
  Array w;
  std::list<Array> more;
};
auto f(const Model& m) { return ts::tree::leaves(m); }
