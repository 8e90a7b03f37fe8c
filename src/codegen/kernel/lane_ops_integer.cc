// Integer and boolean arithmetic of the emitter.
#include "base/message.h"
#include "codegen/kernel/lane_ops.h"
#include "codegen/kernel/llvm_ir.h"

namespace tessera::inline v0::codegen {

namespace {
llvm::Constant* k(llvm::Type* t, std::int64_t v) {
  return llvm::ConstantInt::get(t, static_cast<std::uint64_t>(v), true);
}
unsigned bits_of(llvm::Type* t) { return t->getScalarSizeInBits(); }
// The value of a constant that is equal in all lanes.
const llvm::ConstantInt* uniform(llvm::Value* v) {
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c && c->getType()->isVectorTy()) c = c->getSplatValue();
  return c ? llvm::dyn_cast<llvm::ConstantInt>(c) : nullptr;
}
}  // namespace

llvm::Value* LaneOps::integer_unary(Arith op, llvm::Value* v, DType d) {
  llvm::Type* t = v->getType();
  llvm::Constant *zero = k(t, 0), *one = k(t, 1);
  switch (op) {
    case Arith::neg: return b_.CreateNeg(v);
    case Arith::abs:
      return is_signed_integer(d) ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b_.getFalse())
                                  : v;
    case Arith::sign: {
      llvm::Value* positive = b_.CreateZExt(b_.CreateICmpNE(v, zero), t);
      return is_signed_integer(d) ? b_.CreateSelect(b_.CreateICmpSLT(v, zero), k(t, -1), positive)
                                  : positive;
    }
    case Arith::floor:
    case Arith::ceil:
    case Arith::round_nearest_even:
    case Arith::round_away: return v;
    case Arith::not_: return b_.CreateNot(v);
    case Arith::popcount: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, v);
    case Arith::clz: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, v, b_.getFalse());
    default: break;
  }
  (void)one;
  throw InternalError("emitter: no such operation on integers");
}

namespace {

// Processors have vector division for floats, but not for integers. The quotient of integers of up
// to 32 bits, rounded to a double and then towards zero, is exact: a quotient that is not an
// integer differs from the nearest integer by at least 2^-32 relative to itself, and a double has
// 53 bits.
llvm::Value* quotient_of_doubles(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y,
                                 bool is_signed) {
  llvm::Type* const t = x->getType();
  llvm::Type* const wide =
      llvm::VectorType::get(b.getDoubleTy(), llvm::cast<llvm::VectorType>(t)->getElementCount());
  const auto as_double = [&](llvm::Value* v) {
    return is_signed ? b.CreateSIToFP(v, wide) : b.CreateUIToFP(v, wide);
  };
  llvm::Value* const q = b.CreateFDiv(as_double(x), as_double(y));
  // The division must be correctly rounded, even if approximations are allowed elsewhere.
  if (auto* const division = llvm::dyn_cast<llvm::Instruction>(q))
    division->setFastMathFlags(llvm::FastMathFlags());
  return is_signed ? b.CreateFPToSI(q, t) : b.CreateFPToUI(q, t);
}

}  // namespace

llvm::Value* LaneOps::integer_division(Arith op, llvm::Value* x, llvm::Value* y, bool is_signed) {
  llvm::Type* t = x->getType();
  bool div = op == Arith::div;
  if (const llvm::ConstantInt* c = uniform(y);
      c && !c->isZero() && !(is_signed && c->isMinusOne())) {
    if (div) return is_signed ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
    return is_signed ? b_.CreateSRem(x, y) : b_.CreateURem(x, y);
  }
  llvm::Value* by_zero = b_.CreateICmpEQ(y, k(t, 0));
  llvm::Value* unsafe = by_zero;
  if (is_signed) {
    llvm::Constant* least = llvm::ConstantInt::get(t, llvm::APInt::getSignedMinValue(bits_of(t)));
    unsafe =
        b_.CreateOr(by_zero, b_.CreateAnd(b_.CreateICmpEQ(x, least), b_.CreateICmpEQ(y, k(t, -1))));
  }
  llvm::Value* safe = b_.CreateSelect(unsafe, k(t, 1), y);
  if (t->isVectorTy() && bits_of(t) <= 32) {
    llvm::Value* const q = quotient_of_doubles(b_, x, safe, is_signed);
    if (div) return b_.CreateSelect(by_zero, k(t, -1), q);
    return b_.CreateSelect(by_zero, x, b_.CreateSub(x, b_.CreateMul(q, safe)));
  }
  if (div)
    return b_.CreateSelect(by_zero, k(t, -1),
                           is_signed ? b_.CreateSDiv(x, safe) : b_.CreateUDiv(x, safe));
  return b_.CreateSelect(by_zero, x, is_signed ? b_.CreateSRem(x, safe) : b_.CreateURem(x, safe));
}

// Powers by repeated squaring with wrap-around. A negative exponent gives the truncated reciprocal.
llvm::Value* LaneOps::integer_power(llvm::Value* x, llvm::Value* y, bool is_signed) {
  llvm::Type* t = x->getType();
  llvm::Value *result = k(t, 1), *square = x;
  for (unsigned i = 0; i < bits_of(t) - is_signed; ++i) {
    llvm::Value* bit = b_.CreateAnd(b_.CreateLShr(y, k(t, i)), k(t, 1));
    result = b_.CreateSelect(b_.CreateICmpNE(bit, k(t, 0)), b_.CreateMul(result, square), result);
    square = b_.CreateMul(square, square);
  }
  if (!is_signed) return result;
  llvm::Value* odd = b_.CreateICmpNE(b_.CreateAnd(y, k(t, 1)), k(t, 0));
  llvm::Value* reciprocal = b_.CreateSelect(b_.CreateICmpEQ(x, k(t, 1)), k(t, 1), k(t, 0));
  reciprocal = b_.CreateSelect(b_.CreateICmpEQ(x, k(t, -1)),
                               b_.CreateSelect(odd, k(t, -1), k(t, 1)), reciprocal);
  return b_.CreateSelect(b_.CreateICmpSLT(y, k(t, 0)), reciprocal, result);
}

llvm::Value* LaneOps::integer_binary(Arith op, llvm::Value* x, llvm::Value* y, DType d) {
  llvm::Type* t = x->getType();
  bool s = is_signed_integer(d), boolean = d == DType::boolean;
  if (boolean) {
    // As in NumPy: addition and maximum are "or", product and minimum are "and".
    if (op == Arith::add || op == Arith::max) op = Arith::or_;
    if (op == Arith::mul || op == Arith::min) op = Arith::and_;
    if (op == Arith::sub) op = Arith::xor_;
  }
  auto in_range = [&] { return b_.CreateICmpULT(y, k(t, bits_of(t))); };
  switch (op) {
    case Arith::add: return b_.CreateAdd(x, y);
    case Arith::sub: return b_.CreateSub(x, y);
    case Arith::mul: return b_.CreateMul(x, y);
    case Arith::div:
    case Arith::rem: return integer_division(op, x, y, s);
    case Arith::pow: return integer_power(x, y, s);
    case Arith::max:
      return b_.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
    case Arith::min:
      return b_.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
    case Arith::and_: return b_.CreateAnd(x, y);
    case Arith::or_: return b_.CreateOr(x, y);
    case Arith::xor_: return b_.CreateXor(x, y);
    case Arith::shift_left: return b_.CreateSelect(in_range(), b_.CreateShl(x, y), k(t, 0));
    case Arith::shift_right_logical:
      return b_.CreateSelect(in_range(), b_.CreateLShr(x, y), k(t, 0));
    case Arith::shift_right_arithmetic:
      return b_.CreateAShr(
          x, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, y, k(t, bits_of(t) - 1)));
    default: break;
  }
  throw InternalError("emitter: no such operation on integers");
}

}  // namespace tessera::inline v0::codegen
