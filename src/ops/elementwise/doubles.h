// Helpers for ops that compute in double whatever their dtype.
#pragma once

#include "ir/emit.h"

#include <limits>

namespace tessera::inline v0::ops {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Emits arithmetic on doubles in a kernel.
struct Doubles {
  Emitter& e;
  Lane number(double v) const { return e.constant(DType::float64, v); }
  Lane add(Lane x, Lane y) const { return e.binary(Arith::add, x, y); }
  Lane sub(Lane x, Lane y) const { return e.binary(Arith::sub, x, y); }
  Lane mul(Lane x, Lane y) const { return e.binary(Arith::mul, x, y); }
  Lane over(double v, Lane x) const { return e.binary(Arith::div, number(v), x); }
  Lane neg(Lane x) const { return e.unary(Arith::neg, x); }
};

}  // namespace tessera::inline v0::ops
