// expect: tessera: an unordered container is no tree
#include <tessera/tessera.h>
#include <unordered_map>

namespace ts = tessera;
using ts::Array;

auto f(const std::unordered_map<std::string, Array>& m) { return ts::tree::leaves(m); }
