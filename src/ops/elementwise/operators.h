// Arithmetic operators on values, for functions composed of many ops: `using namespace
// ops::operators` in a source file.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops::operators {

inline Value operator+(Value x, Value y) { return add(x, y); }
inline Value operator-(Value x, Value y) { return sub(x, y); }
inline Value operator*(Value x, Value y) { return mul(x, y); }
inline Value operator/(Value x, Value y) { return div(x, y); }
inline Value operator-(Value x) { return neg(x); }
inline Value operator+(Value x, double y) { return add(x, full_like(x, y)); }
inline Value operator-(Value x, double y) { return sub(x, full_like(x, y)); }
inline Value operator*(Value x, double y) { return mul(x, full_like(x, y)); }
inline Value operator/(Value x, double y) { return div(x, full_like(x, y)); }
inline Value operator*(double x, Value y) { return mul(full_like(y, x), y); }
inline Value operator/(double x, Value y) { return div(full_like(y, x), y); }

}  // namespace tessera::inline v0::ops::operators
