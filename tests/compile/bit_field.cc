// expect: tessera: a field of this tree is a bit-field; give it a whole type
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

struct Settings {
  Array weight;
  int heads : 4;
};

auto f(const Settings& s) {
  return ts::jit([](Settings t) { return t.weight; })(s);
}
