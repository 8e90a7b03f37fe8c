// Sine and cosine of float32.
//
// |x| = n pi/2 + r with r in [-pi/4, pi/4]. pi/2 is split into three floats; the product of the
// first with n is a multiple of 2^-23, like x, so the first difference is exact (Cody and Waite,
// "Software Manual for the Elementary Functions", 1980). The polynomials are minimax fits of
// (sin(r) / r - 1) / r^2 and of ((cos(r) - 1) / r^2 + 1/2) / r^2, within 2^-27.9 and 2^-32.9.
#include "codegen/kernel/float_math.h"
#include "codegen/kernel/llvm_ir.h"

namespace tessera::inline v0::codegen {

llvm::Value* sine(IrBuilder& b, llvm::Value* x, int quarters) {
  llvm::Type* t = x->getType();
  llvm::Type* i32 = b.getInt32Ty();
  const int width = width_of(x);
  llvm::Type* ints = width ? llvm::FixedVectorType::get(i32, static_cast<unsigned>(width)) : i32;
  auto number = [&](double v) { return llvm::ConstantFP::get(t, v); };
  auto integer = [&](std::uint32_t v) { return llvm::ConstantInt::get(ints, v); };
  auto bits = [&](llvm::Value* v) { return b.CreateBitCast(v, ints); };
  llvm::Value* a = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);

  // Adding a number whose last bit is worth 1 rounds to an integer in the lowest bits.
  llvm::Value* shifted = multiply_add(b, a, number(0.636619772367581343), number(0x1.8p23));
  llvm::Value* n = b.CreateFSub(shifted, number(0x1.8p23));
  llvm::Value* r = multiply_add(b, n, number(-0x1.921fb6p+0), a);
  r = multiply_add(b, n, number(0x1.777a5cp-25), r);
  r = multiply_add(b, n, number(0x1.ee59dap-50), r);

  llvm::Value* s = b.CreateFMul(r, r);
  llvm::Value* sin =
      polynomial(b, s, {-0.0001951029139803306, 0.008332124434837412, -0.16666654043094678});
  sin = multiply_add(b, b.CreateFMul(r, s), sin, r);
  llvm::Value* cos = polynomial(
      b, s, {2.4427453221290618e-05, -0.0013887266954309531, 0.04166664468434524, -0.5, 1});

  llvm::Value* quarter = bits(shifted);
  if (quarters) quarter = b.CreateAdd(quarter, integer(static_cast<std::uint32_t>(quarters)));
  llvm::Value* odd = b.CreateICmpSLT(b.CreateShl(quarter, integer(31)), integer(0));
  llvm::Value* magnitude = b.CreateSelect(odd, cos, sin);
  llvm::Value* sign = b.CreateShl(b.CreateAnd(quarter, integer(2)), integer(30));
  // The odd sine also takes the sign of x. The cosine is even and does not.
  if (quarters == 0) sign = b.CreateXor(sign, b.CreateAnd(bits(x), integer(0x80000000u)));
  return b.CreateBitCast(b.CreateXor(bits(magnitude), sign), t);
}

}  // namespace tessera::inline v0::codegen
