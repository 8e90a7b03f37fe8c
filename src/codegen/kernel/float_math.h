// Functions of float32 that the emitter writes in place.
//
// They take a half to a sixth of the time of SLEEF's, which correct the last bit in ways that the
// derivatives and losses of array programs do not need, and whose calls spill every register around
// them. XLA's approximations are about as accurate. The others, and all of float64, are SLEEF's.
#pragma once

#include "ir/emit.h"

#include <initializer_list>

namespace llvm {
class Value;
}

namespace tessera::inline v0::codegen {

struct IrBuilder;

/// op(x) of a float or a vector of floats; nullptr where there is no function of the project's own.
/// Special values are IEEE's: NaN gives NaN, and zeros keep their sign under odd functions. Largest
/// errors seen, in units in the last place, with fused multiply-adds and without: exp 1.06 1.02,
/// expm1 1.58 1.69, log 0.93 1.07, log1p 0.93 1.07, sinh 2.15 2.20, cosh 1.47, tanh 2.42 2.52,
/// asinh 1.69, acosh 2.06 2.31, atanh 1.63 1.77, logistic 2.23, erf 1.70 2.02, erfc 2.41 1.95.
llvm::Value* float_math(IrBuilder& b, Arith op, llvm::Value* x);

/// sin(x) or, a quarter turn on, cos(x) of |x| < kSineRange, within 1.55 units; anything for others
/// but NaN, which gives itself. For processors that round x y + z once.
inline constexpr double kSineRange = 1e5;
llvm::Value* sine(IrBuilder& b, llvm::Value* x, int quarters);

/// x y + z, rounded once where the processor can.
llvm::Value* multiply_add(IrBuilder& b, llvm::Value* x, llvm::Value* y, llvm::Value* z);
/// Horner's rule, from the highest power on, of a vector or a scalar of either precision.
llvm::Value* polynomial(IrBuilder& b, llvm::Value* x, std::initializer_list<double> coefficients);

}  // namespace tessera::inline v0::codegen
