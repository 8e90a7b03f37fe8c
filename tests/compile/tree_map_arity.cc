// expect: tessera: the function of tree::map takes one Array of each tree and gives an Array
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

struct Model {
  Array w;
};
auto f(const Model& m) {
  return ts::tree::map([](Array p, Array g) { return p - g; }, m);
}
