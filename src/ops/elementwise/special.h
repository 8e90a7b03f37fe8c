// Functions of the gamma family.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

Value lgamma(Value x);
Value digamma(Value x);
Value polygamma(Value x, std::int64_t n);  // the n-th derivative of digamma {order: integer}

}  // namespace tessera::inline v0::ops
