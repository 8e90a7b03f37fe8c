// expect: tessera: the differentiated parameter is a C++ number, which is static; make it an Array
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

Array f() {
  return ts::grad([](float x) { return Array(x); })(3.0f);
}
