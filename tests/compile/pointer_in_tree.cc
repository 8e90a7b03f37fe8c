// expect: tessera: a pointer is no tree
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

struct Model {
  std::shared_ptr<Array> w;
};
auto f(const Model& m) { return ts::tree::leaves(m); }
