// expect: tessera: a map is a tree if its keys are std::string or integers
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

enum class Part { encoder, decoder };
auto f(const std::map<Part, Array>& m) { return ts::tree::leaves(m); }
