// Functions of the gamma family.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

Value lgamma(Value x);
Value digamma(Value x);
Value polygamma(Value x, std::int64_t n);  // the n-th derivative of digamma {order: integer}

// Compositions of other ops, for float64.
Value zeta(Value s, Value q);               // the Hurwitz zeta function
Value bessel_i_scaled(Value x, int order);  // exp(-|x|) I_n(x), n = 0 or 1
Value bessel_i_rooted(Value x, int order);  // the same times sqrt(x), for x >= 3

}  // namespace tessera::inline v0::ops
