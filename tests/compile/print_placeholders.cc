// expect: a_format_has_one_placeholder_for_each_value
#include <tessera/tessera.h>

void f(tessera::Array x) { tessera::debug::print("{} and {}", x); }
