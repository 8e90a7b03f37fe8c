// The float32 functions that are computed in float64: the tangent and the power.
//
// In float32, both would need pairs of floats for an error below one unit in the last place.
// Doubles need fewer instructions than pairs, although they fill twice as many registers, and give
// nearly correctly rounded results.
#include "codegen/kernel/float_math.h"
#include "codegen/kernel/llvm_ir.h"

namespace tessera::inline v0::codegen {
namespace {

// Adding it to a double leaves the nearest integer in the lowest bits, since its last bit is worth
// 1.
constexpr double kShift = 0x1.8p52;

class WideMath {
 public:
  WideMath(IrBuilder& b, llvm::Type* narrow) : b_(b) {
    t_ = narrow->getWithNewType(b.getDoubleTy());
    i_ = narrow->getWithNewType(b.getInt64Ty());
  }

  // x = n pi/2 + r. pi/2 is split into two doubles; the first difference is exact, because both its
  // operands are multiples of 2^-52 and it is small. tan(r) is a quotient of polynomials, within
  // 2^-35, and -1 / tan(r) is minus its inverse.
  llvm::Value* tan(llvm::Value* x) {
    llvm::Value* shifted = multiply_add(b_, x, number(0.636619772367581343), number(kShift));
    llvm::Value* n = b_.CreateFSub(shifted, number(kShift));
    llvm::Value* r = multiply_add(b_, n, number(-0x1.921fb54442d18p+0), x);
    r = multiply_add(b_, n, number(-0x1.1a62633145c07p-54), r);
    llvm::Value* s = b_.CreateFMul(r, r);
    llvm::Value* below = polynomial(b_, s, {1, -27.843676346540661, 62.613877954858694});
    llvm::Value* above = b_.CreateFMul(
        r, polynomial(b_, s, {0.067292700899464819, -6.9723837695415867, 62.613877954858694}));
    llvm::Value* odd = b_.CreateICmpSLT(b_.CreateShl(bits(shifted), integer(63)), integer(0));
    return b_.CreateFDiv(b_.CreateSelect(odd, b_.CreateFNeg(below), above),
                         b_.CreateSelect(odd, above, below));
  }

  // 2^(y log2(a)) for a >= 0. Zeros and infinities of log2(a) are replaced by numbers whose product
  // with any y but zero is out of range.
  llvm::Value* power(llvm::Value* a, llvm::Value* y) {
    llvm::Value* log = b_.CreateSelect(b_.CreateFCmpOEQ(a, number(0)), number(-1e300), log2(a));
    log =
        b_.CreateSelect(b_.CreateFCmpOEQ(a, llvm::ConstantFP::getInfinity(t_)), number(1e300), log);
    return exp2(b_.CreateFMul(y, log));
  }

 private:
  // k + log2(m) where a = 2^k m with m in [sqrt(1/2), sqrt(2)). log2(m) is odd in
  // (m - 1) / (m + 1), and this fit of it is within 2^-37.
  llvm::Value* log2(llvm::Value* a) {
    constexpr std::int64_t least = 0x3fe6a09e667f3bcd, bias = 1024, two_52 = 0x4330000000000000;
    llvm::Value* place = b_.CreateSub(bits(a), integer(least));
    llvm::Value* k = b_.CreateAnd(place, integer(-(std::int64_t{1} << 52)));
    llvm::Value* m = doubles(b_.CreateSub(bits(a), k));
    llvm::Value* count = b_.CreateLShr(b_.CreateAdd(place, integer(bias << 52)), integer(52));
    llvm::Value* exponent = b_.CreateFSub(doubles(b_.CreateOr(count, integer(two_52))),
                                          number(0x1p52 + static_cast<double>(bias)));
    llvm::Value* q = b_.CreateFDiv(b_.CreateFSub(m, number(1)), b_.CreateFAdd(m, number(1)));
    llvm::Value* p = polynomial(b_, b_.CreateFMul(q, q),
                                {0.34073006093501185, 0.41167272167408253, 0.5770835849151732,
                                 0.96179667334216368, 2.885390081790085});
    return multiply_add(b_, q, p, exponent);
  }

  // 2^t as n + (t - n) with an integer n, within 2^-29; beyond the range of float32 any number that
  // rounds to zero or infinity.
  llvm::Value* exp2(llvm::Value* t) {
    t = b_.CreateSelect(b_.CreateFCmpOGT(t, number(200)), number(200), t);
    t = b_.CreateSelect(b_.CreateFCmpOLT(t, number(-200)), number(-200), t);
    llvm::Value* shifted = b_.CreateFAdd(t, number(kShift));
    llvm::Value* rest = b_.CreateFSub(t, b_.CreateFSub(shifted, number(kShift)));
    llvm::Value* p = polynomial(
        b_, rest,
        {0.00015345811845228491, 0.0013399931218372831, 0.0096184889577004985, 0.055503287769670832,
         0.24022646890628327, 0.69314720573726485, 1.0000000005541663});
    return doubles(b_.CreateAdd(bits(p), b_.CreateShl(bits(shifted), integer(52))));
  }

  llvm::Constant* number(double v) const { return llvm::ConstantFP::get(t_, v); }
  llvm::Constant* integer(std::int64_t v) const { return llvm::ConstantInt::getSigned(i_, v); }
  llvm::Value* bits(llvm::Value* v) { return b_.CreateBitCast(v, i_); }
  llvm::Value* doubles(llvm::Value* v) { return b_.CreateBitCast(v, t_); }

  IrBuilder& b_;
  llvm::Type *t_, *i_;
};

}  // namespace

llvm::Value* tangent(IrBuilder& b, llvm::Value* x) {
  WideMath math(b, x->getType());
  llvm::Value* wide = b.CreateFPExt(x, x->getType()->getWithNewType(b.getDoubleTy()));
  return b.CreateFPTrunc(math.tan(wide), x->getType());
}

llvm::Value* power(IrBuilder& b, llvm::Value* x, llvm::Value* y) {
  llvm::Type* t = x->getType();
  llvm::Type* wide = t->getWithNewType(b.getDoubleTy());
  const auto number = [&](double v) { return llvm::ConstantFP::get(t, v); };
  const auto unary = [&](llvm::Intrinsic::ID id, llvm::Value* v) {
    return b.CreateUnaryIntrinsic(id, v);
  };
  const auto is_integer = [&](llvm::Value* v) {
    return b.CreateFCmpOEQ(unary(llvm::Intrinsic::roundeven, v), v);
  };
  llvm::Constant* const infinity = llvm::ConstantFP::getInfinity(t);
  llvm::Value* a = unary(llvm::Intrinsic::fabs, x);
  // The largest number stands for an infinite exponent, so that the power of 1 is 1.
  llvm::Value* finite = b.CreateSelect(
      b.CreateFCmpOEQ(unary(llvm::Intrinsic::fabs, y), infinity),
      b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, number(0x1.fffffep127), y), y);
  llvm::Value* magnitude =
      b.CreateFPTrunc(WideMath(b, t).power(b.CreateFPExt(a, wide), b.CreateFPExt(finite, wide)), t);

  // A negative x, which may be -0, gives its sign to odd powers.
  llvm::Value* whole = is_integer(y);
  llvm::Value* odd = b.CreateAnd(whole, b.CreateNot(is_integer(b.CreateFMul(y, number(0.5)))));
  llvm::Value* v = b.CreateSelect(
      odd, b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, x), magnitude);
  llvm::Value* below = b.CreateAnd(b.CreateFCmpOLT(x, number(0)), b.CreateFCmpOLT(a, infinity));
  v = b.CreateSelect(b.CreateAnd(below, b.CreateNot(whole)), llvm::ConstantFP::getNaN(t), v);
  v = b.CreateSelect(b.CreateFCmpUNO(x, y), b.CreateFAdd(x, y), v);
  llvm::Value* one = b.CreateOr(b.CreateFCmpOEQ(y, number(0)), b.CreateFCmpOEQ(x, number(1)));
  return b.CreateSelect(one, number(1), v);
}

}  // namespace tessera::inline v0::codegen
