// float32 functions that the emitter generates inline.
//
// They take a half to a sixth of the time of SLEEF's functions. SLEEF corrects the last bit, which
// the derivatives and losses of array programs do not need, and its calls spill every register.
// XLA's approximations are about as accurate. The tangent and the power are as accurate as SLEEF's,
// but are computed in float64. Other functions, and all float64 functions, come from SLEEF.
#pragma once

#include "ir/emit.h"

#include <initializer_list>

namespace llvm {
class Value;
}

namespace tessera::inline v0::codegen {

struct IrBuilder;

/// op(x) for a float or a vector of floats; nullptr if there is no inline version of `op`. Special
/// values follow IEEE: NaN gives NaN, and odd functions keep the sign of zero. Largest errors seen,
/// in units in the last place, with fused multiply-adds and without: exp 1.06 1.02, expm1 1.58
/// 1.69, log 0.93 1.07, log1p 0.93 1.07, sinh 2.15 2.20, cosh 1.47, tanh 2.42 2.52, asinh 1.69,
/// acosh 2.06 2.31, atan 1.20 1.54, atanh 1.63 1.77, logistic 2.23, erf 1.70 2.02, erfc 2.41 1.95.
llvm::Value* float_math(IrBuilder& b, Arith op, llvm::Value* x);

/// sin(x), or cos(x) if `quarters` is 1, for |x| < kSineRange, within 1.55 units in the last place.
/// Larger x give an arbitrary result, NaN gives NaN. For processors with fused multiply-add.
inline constexpr double kSineRange = 1e5;
llvm::Value* sine(IrBuilder& b, llvm::Value* x, int quarters);
/// tan(x) for |x| < kTangentRange, within 0.51 units in the last place. Larger x give an arbitrary
/// result, NaN gives NaN. For processors with fused multiply-add.
inline constexpr double kTangentRange = 1e9;
llvm::Value* tangent(IrBuilder& b, llvm::Value* x);
/// x to the power y with the special values of IEEE pow, within 0.54 units in the last place. For
/// processors with fused multiply-add.
llvm::Value* power(IrBuilder& b, llvm::Value* x, llvm::Value* y);

/// x y + z, rounded once if the processor has a fused multiply-add.
llvm::Value* multiply_add(IrBuilder& b, llvm::Value* x, llvm::Value* y, llvm::Value* z);
/// Horner's rule for a scalar or vector of either precision; the highest power comes first.
llvm::Value* polynomial(IrBuilder& b, llvm::Value* x, std::initializer_list<double> coefficients);

}  // namespace tessera::inline v0::codegen
