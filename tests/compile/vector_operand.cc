// expect: tessera: a std::vector of numbers is no array yet: write Array(values)
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

auto f(const std::vector<float>& values) { return ts::sum(values); }
