// expect: tessera: this type is no tree
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

class Model {
 public:
  explicit Model(int) {}
  Array w;
};
auto f(const Model& m) { return ts::tree::leaves(m); }
