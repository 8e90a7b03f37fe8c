// Functions that SLEEF lacks, or that it computes over too small a range.
#include "base/erf_inv_polynomials.h"
#include "codegen/kernel/float_math.h"
#include "codegen/kernel/lane_ops.h"
#include "codegen/kernel/llvm_ir.h"

#include <llvm/IR/MDBuilder.h>

namespace tessera::inline v0::codegen {

namespace {

// Horner's rule without the last coefficient.
template <class T, std::size_t N>
llvm::Value* before_last(IrBuilder& b, llvm::Value* x, const T (&c)[N]) {
  llvm::Type* t = x->getType();
  llvm::Value* p = llvm::ConstantFP::get(t, static_cast<double>(c[0]));
  for (std::size_t k = 1; k + 1 < N; ++k)
    p = multiply_add(b, p, x, llvm::ConstantFP::get(t, static_cast<double>(c[k])));
  return p;
}
template <class T, std::size_t N>
double last_of(const T (&c)[N]) {
  return static_cast<double>(c[N - 1]);
}

}  // namespace

// erf_inv(x) = x p(w). The last step, p = c + w q, and the product are computed in float64, because
// they would cause most of the error.
llvm::Value* LaneOps::erf_inv_of_floats(llvm::Value* x, llvm::Value* w) {
  using namespace erf_inv_polynomials;
  llvm::Type* t = x->getType();
  llvm::Value* low = b_.CreateFSub(w, number(t, 2.5));
  llvm::Value* high =
      b_.CreateFSub(b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w), number(t, 3));
  llvm::Value* near = b_.CreateFCmpOLT(w, number(t, 5));
  llvm::Value* q =
      b_.CreateSelect(near, before_last(b_, low, kNear32), before_last(b_, high, kFar32));
  llvm::Value* at = b_.CreateSelect(near, low, high);
  llvm::Value* c = b_.CreateSelect(near, number(t, last_of(kNear32)), number(t, last_of(kFar32)));
  llvm::Type* wide = t->getWithNewType(b_.getDoubleTy());
  auto widen = [&](llvm::Value* v) { return b_.CreateFPExt(v, wide); };
  llvm::Value* p = b_.CreateFAdd(widen(c), b_.CreateFMul(widen(at), widen(q)));
  return b_.CreateFPTrunc(b_.CreateFMul(p, widen(x)), t);
}

// The float64 version, which adds the rounding error of the last sum.
llvm::Value* LaneOps::erf_inv_of_doubles(llvm::Value* x, llvm::Value* w) {
  using namespace erf_inv_polynomials;
  llvm::Type* t = x->getType();
  llvm::Value* root = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w);
  llvm::Value* near = b_.CreateFCmpOLT(w, number(t, 6.25));
  llvm::Value* far = b_.CreateFCmpOGE(w, number(t, 16));
  auto chosen = [&](llvm::Value* low, llvm::Value* middle, llvm::Value* high) {
    return b_.CreateSelect(near, low, b_.CreateSelect(far, high, middle));
  };
  llvm::Value* low = b_.CreateFSub(w, number(t, 3.125));
  llvm::Value* middle = b_.CreateFSub(root, number(t, 3.25));
  llvm::Value* high = b_.CreateFSub(root, number(t, 5));
  llvm::Value* q = chosen(before_last(b_, low, kNear64), before_last(b_, middle, kMiddle64),
                          before_last(b_, high, kFar64));
  llvm::Value* c = chosen(number(t, last_of(kNear64)), number(t, last_of(kMiddle64)),
                          number(t, last_of(kFar64)));
  llvm::Value* rest = chosen(number(t, kNearRest64), number(t, 0), number(t, 0));
  llvm::Value* product = b_.CreateFMul(chosen(low, middle, high), q);
  llvm::Value* p = b_.CreateFAdd(c, product);
  rest = b_.CreateFAdd(rest, b_.CreateFSub(product, b_.CreateFSub(p, c)));
  return b_.CreateFAdd(b_.CreateFMul(p, x), b_.CreateFMul(rest, x));
}

llvm::Value* LaneOps::erf_inv(llvm::Value* x, bool f64) {
  llvm::Type* t = x->getType();
  llvm::Value* rest = b_.CreateFMul(b_.CreateFSub(number(t, 1), x), b_.CreateFAdd(number(t, 1), x));
  llvm::Value* w = b_.CreateFNeg(float_unary(Arith::log, rest, f64));
  llvm::Value* inside = f64 ? erf_inv_of_doubles(x, w) : erf_inv_of_floats(x, w);
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* edge = b_.CreateFCmpOEQ(magnitude, number(t, 1));
  llvm::Value* infinite = b_.CreateFMul(x, llvm::ConstantFP::getInfinity(t));
  // Adding parts of opposite sign would lose the sign of zero.
  inside = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, inside, x);
  return b_.CreateSelect(edge, infinite, inside);
}

// Sine, cosine or tangent inline. Lanes beyond the inline range are computed by SLEEF, if a vector
// has any.
llvm::Value* LaneOps::periodic_of_any(Arith op, llvm::Value* x) {
  const bool is_tangent = op == Arith::tan;
  llvm::Value* near = is_tangent ? tangent(b_, x) : sine(b_, x, op == Arith::cos ? 1 : 0);
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* large =
      b_.CreateFCmpOGE(magnitude, number(x->getType(), is_tangent ? kTangentRange : kSineRange));
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::LLVMContext& c = b_.getContext();
  auto* far = llvm::BasicBlock::Create(c, "far", before->getParent());
  auto* after = llvm::BasicBlock::Create(c, "near", before->getParent());
  b_.CreateCondBr(width_of(x) ? b_.CreateOrReduce(large) : large, far, after,
                  llvm::MDBuilder(c).createBranchWeights(1, 1000));
  b_.SetInsertPoint(far);
  llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
  llvm::Value* exact = call_math(op, b_.CreateSelect(large, x, zero), nullptr, false);
  llvm::Value* mixed = b_.CreateSelect(large, exact, near);
  llvm::BasicBlock* far_end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  auto* result = b_.CreatePHI(x->getType(), 2);
  result->addIncoming(near, before);
  result->addIncoming(mixed, far_end);
  return result;
}

// SLEEF's float64 sinh, cosh, asinh, acosh and log1p overflow before their results do. Large
// arguments therefore use exponentials of half the argument, or logarithms.
llvm::Value* LaneOps::over_whole_range(Arith op, llvm::Value* x) {
  llvm::Type* t = x->getType();
  bool direct = op == Arith::sinh || op == Arith::cosh,
       odd = op == Arith::sinh || op == Arith::asinh;
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* large = b_.CreateFCmpOGT(op == Arith::acosh || op == Arith::log1p ? x : magnitude,
                                        number(t, direct ? 700 : 1e18));
  llvm::Value* near = call_math(op, b_.CreateSelect(large, number(t, 1), x), nullptr, true);
  llvm::Value* far;
  if (direct) {
    llvm::Value* half =
        call_math(Arith::exp, b_.CreateFMul(magnitude, number(t, 0.5)), nullptr, true);
    far = b_.CreateFMul(b_.CreateFMul(half, number(t, 0.5)), half);
  } else {
    far = call_math(Arith::log, magnitude, nullptr, true);
    if (op != Arith::log1p) far = b_.CreateFAdd(far, number(t, 0.693147180559945309417));
  }
  if (op == Arith::log1p)  // equals x for small x, where SLEEF loses subnormal bits
    near = b_.CreateSelect(b_.CreateFCmpOLT(magnitude, number(t, 0x1p-60)), x, near);
  if (odd) far = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, far, x);
  return b_.CreateSelect(large, far, near);
}

// SLEEF divides by the larger operand by way of its reciprocal. The reciprocals of the largest
// numbers are subnormal, and zero where those are flushed, so large operands are scaled first.
llvm::Value* LaneOps::atan2_of_any(llvm::Value* y, llvm::Value* x, bool f64) {
  const auto magnitude = [&](llvm::Value* v) {
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  };
  llvm::Value* const most = number(x->getType(), f64 ? 0x1p1000 : 0x1p100);
  llvm::Value* const is_large =
      b_.CreateOr(b_.CreateFCmpOGT(magnitude(y), most), b_.CreateFCmpOGT(magnitude(x), most));
  llvm::Value* const scale =
      b_.CreateSelect(is_large, number(x->getType(), 0x1p-30), number(x->getType(), 1));
  return call_math(Arith::atan2, b_.CreateFMul(y, scale), b_.CreateFMul(x, scale), f64);
}

}  // namespace tessera::inline v0::codegen
