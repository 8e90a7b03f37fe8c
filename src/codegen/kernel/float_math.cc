#include "codegen/kernel/float_math.h"

#include "codegen/kernel/isa.h"
#include "codegen/kernel/llvm_ir.h"

namespace tessera::inline v0::codegen {
namespace {

constexpr double kLn2 = 0.693147180559945309417, kLog2E = 1.44269504088896340736;

class FloatMath {
 public:
  FloatMath(IrBuilder& b, llvm::Value* x) : b_(b), t_(x->getType()) {
    int width = width_of(x);
    llvm::Type* i32 = llvm::Type::getInt32Ty(b.getContext());
    i_ = width ? llvm::FixedVectorType::get(i32, static_cast<unsigned>(width)) : i32;
  }

  llvm::Value* exp(llvm::Value* x) { return keep_nan(x, scaled_exp(clamp(x, -104, 89), 0)); }

  // h + h where h = expm1(x) / 2, which is finite as far as exp(x) is.
  llvm::Value* expm1(llvm::Value* x) {
    llvm::Value* h = scaled_expm1(clamp(x, -20, 89), 1);
    return keep_tiny(x, sign_of(x, b_.CreateFAdd(h, h)));
  }

  // With q = expm1(|x|) / 4: 2 q + q / (2 q + 1/2).
  llvm::Value* sinh(llvm::Value* x) {
    llvm::Value* q = scaled_expm1(clamp(abs(x), 0, 89.6), 2);
    llvm::Value* h = b_.CreateFAdd(q, q);
    llvm::Value* rest = b_.CreateFDiv(q, b_.CreateFAdd(h, number(0.5)));
    return keep_tiny(x, sign_of(x, b_.CreateFAdd(h, rest)));
  }

  // With q = exp(|x|) / 4: 2 q + 1 / (8 q).
  llvm::Value* cosh(llvm::Value* x) {
    llvm::Value* q = scaled_exp(clamp(abs(x), 0, 90), 2);
    llvm::Value* rest = b_.CreateFDiv(number(0.125), q);
    return keep_nan(x, b_.CreateFAdd(b_.CreateFAdd(q, q), rest));
  }

  // e / (e + 2) where e = expm1(2 |x|); 1 is reached before the bound.
  llvm::Value* tanh(llvm::Value* x) {
    llvm::Value* y = clamp(abs(x), 0, 9.5);
    llvm::Value* e = scaled_expm1(b_.CreateFAdd(y, y), 0);
    return keep_nan(x, sign_of(x, b_.CreateFDiv(e, b_.CreateFAdd(e, number(2)))));
  }

  llvm::Value* log(llvm::Value* x) {
    // Subnormal numbers are made normal first.
    llvm::Value* small = b_.CreateFCmpOLT(x, number(0x1p-126));
    llvm::Value* y = b_.CreateSelect(small, b_.CreateFMul(x, number(0x1p23)), x);
    llvm::Value* k = exponent(y);
    llvm::Value* t = b_.CreateFSub(floats(b_.CreateSub(bits(y), k)), number(1));
    llvm::Value* n = b_.CreateFAdd(count(k), b_.CreateSelect(small, number(-23), number(0)));
    return log_edges(x, 0, multiply_add(b_, n, number(kLn2), near_log1p(t)));
  }

  // k ln 2 + log1p(t) where 1 + x = 2^k (1 + t), so that t = 2^-k x + (2^-k - 1), rounded once.
  llvm::Value* log1p(llvm::Value* x) {
    llvm::Value* k = exponent(b_.CreateFAdd(x, number(1)));
    llvm::Value* scaled = floats(b_.CreateSub(bits(x), k));
    llvm::Value* four = floats(b_.CreateSub(bits(number(4)), k));  // 4 / 2^k
    llvm::Value* t = b_.CreateFAdd(scaled, multiply_add(b_, four, number(0.25), number(-1)));
    llvm::Value* log = multiply_add(b_, count(k), number(kLn2), near_log1p(t));
    return log_edges(x, -1, sign_of(x, log));
  }

  // log1p(a + a^2 / (1 + sqrt(1 + a^2))) where a = |x|; log(2 a) where a^2 would overflow.
  llvm::Value* asinh(llvm::Value* x) {
    llvm::Value* a = abs(x);
    llvm::Value* large = b_.CreateFCmpOGT(a, number(0x1p28));
    llvm::Value* s = b_.CreateFMul(a, a);
    llvm::Value* root = sqrt(b_.CreateFAdd(s, number(1)));
    llvm::Value* y = b_.CreateFAdd(a, b_.CreateFDiv(s, b_.CreateFAdd(root, number(1))));
    return sign_of(x, log_of_double(large, a, y));
  }

  // log1p(t + sqrt(t (t + 2))) where t = x - 1.
  llvm::Value* acosh(llvm::Value* x) {
    llvm::Value* t = b_.CreateFSub(x, number(1));
    llvm::Value* large = b_.CreateFCmpOGT(x, number(0x1p28));
    llvm::Value* root = sqrt(b_.CreateFMul(t, b_.CreateFAdd(t, number(2))));
    llvm::Value* below = b_.CreateFCmpOLT(x, number(1));
    return b_.CreateSelect(below, llvm::ConstantFP::getNaN(t_),
                           log_of_double(large, x, b_.CreateFAdd(t, root)));
  }

  // Near zero a polynomial of erf; beyond 1, 1 - P(|x| - 2.5) where P is the Chebyshev fit of erfc
  // up to 4, by when it rounds away. Each is within 1.1e-8.
  llvm::Value* erf(llvm::Value* x) {
    llvm::Value* a = abs(x);
    llvm::Value* t = b_.CreateFSub(clamp(a, 1, 4), number(2.5));  // exact
    llvm::Value* tail =
        polynomial(b_, t,
                   {-8.8379663818652673e-7, -4.8799005329444718e-7, 1.5667484782462287e-5,
                    -1.7837625707092101e-5, -8.0933419669313493e-5, 0.00027083598847073071,
                    -0.0002589991189615987, -0.00056065437635786915, 0.0027977789395593987,
                    -0.0061089163763340921, 0.0086225142859783111, -0.0083518240788867784,
                    0.0054457024043967812, -0.0021781802368712608, 0.00040695201744495894});
    llvm::Value* far = sign_of(x, b_.CreateFSub(number(1), tail));
    llvm::Value* near = b_.CreateFCmpOLT(a, number(1));
    return keep_nan(x, b_.CreateSelect(near, near_erf(x), far));
  }

  // exp(-a^2) R((a - 3) / (a + 3)) / (1 + 2 a) where a = |x|, from 2 for negative x; 1 - erf(x)
  // near zero. After Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x
  // in 0 <= x < oo" (1981), with a fit of its own. a^2 keeps its rounding error, and the
  // exponential is 2^24 times too large until the end, where it would be subnormal.
  llvm::Value* erfc(llvm::Value* x) {
    llvm::Value* a = clamp(abs(x), 0, 10.1);
    llvm::Value* high = floats(b_.CreateAnd(bits(a), integer(-1 << 12)));
    llvm::Value *low = b_.CreateFSub(a, high), *square = b_.CreateFMul(high, high);  // exact
    llvm::Value* rest = b_.CreateFMul(low, b_.CreateFAdd(a, high));
    llvm::Value* z = b_.CreateFAdd(square, rest);
    rest = b_.CreateFAdd(b_.CreateFSub(square, z), rest);
    llvm::Value* e = scaled_exp(b_.CreateFNeg(z), -24);
    llvm::Value* t = b_.CreateFDiv(b_.CreateFSub(a, number(3)), b_.CreateFAdd(a, number(3)));
    llvm::Value* r = polynomial(
        b_, t,
        {-0.00027732690796256065, -0.0007983391406014562, 0.001994474558159709,
         0.0025794347748160362, -0.023790234699845314, 0.0682935118675232, -0.11927264928817749,
         0.12964656949043274, -0.04756227880716324, -0.13562114536762238, 1.2530080080032349});
    llvm::Value* v = b_.CreateFMul(erfc_quotient(e, rest, r, a), number(0x1p-24));
    llvm::Value* negative = b_.CreateFCmpOLT(x, number(0));
    v = b_.CreateSelect(negative, b_.CreateFSub(number(2), v), v);
    llvm::Value* near = b_.CreateFCmpOLT(a, number(0.5));
    return keep_nan(x, b_.CreateSelect(near, b_.CreateFSub(number(1), near_erf(x)), v));
  }

 private:
  // e (1 - rest) r / (1 + 2 a), a >= 1/2, with an error of little more than its last rounding: five of
  // floats would be half of erfc's. Where multiplications and additions are one instruction, what
  // roundings lose is known in floats, for a fifth of what divisions of doubles take.
  llvm::Value* erfc_quotient(llvm::Value* e, llvm::Value* rest, llvm::Value* r, llvm::Value* a) {
    llvm::Value* twice = b_.CreateFAdd(a, a);
    if (!host_isa().avx2) {
      llvm::Type* wide = t_->getWithNewType(b_.getDoubleTy());
      auto widened = [&](llvm::Value* v) { return b_.CreateFPExt(v, wide); };
      llvm::Value* one = llvm::ConstantFP::get(wide, 1);
      llvm::Value* top =
          b_.CreateFMul(b_.CreateFMul(widened(e), b_.CreateFSub(one, widened(rest))), widened(r));
      return b_.CreateFPTrunc(b_.CreateFDiv(top, b_.CreateFAdd(widened(twice), one)), t_);
    }
    llvm::Value* bottom = b_.CreateFAdd(twice, number(1));
    llvm::Value* bottom_lost = b_.CreateFSub(number(1), b_.CreateFSub(bottom, twice));
    llvm::Value* top = b_.CreateFMul(e, r);
    llvm::Value* top_lost = multiply_add(b_, e, r, b_.CreateFNeg(top));
    top_lost = multiply_add(b_, b_.CreateFNeg(top), rest, top_lost);
    llvm::Value* inverse = b_.CreateFDiv(number(1), bottom);
    llvm::Value* q = b_.CreateFMul(top, inverse);
    llvm::Value* left = multiply_add(b_, b_.CreateFNeg(q), bottom, top);
    left = b_.CreateFAdd(left, multiply_add(b_, b_.CreateFNeg(q), bottom_lost, top_lost));
    return multiply_add(b_, left, inverse, q);
  }
  llvm::Constant* number(double v) const { return llvm::ConstantFP::get(t_, v); }
  llvm::Constant* integer(int v) const { return llvm::ConstantInt::getSigned(i_, v); }
  llvm::Value* bits(llvm::Value* v) { return b_.CreateBitCast(v, i_); }
  llvm::Value* floats(llvm::Value* v) { return b_.CreateBitCast(v, t_); }
  llvm::Value* abs(llvm::Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); }
  llvm::Value* sqrt(llvm::Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v); }
  llvm::Value* sign_of(llvm::Value* x, llvm::Value* v) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, v, x);
  }
  llvm::Value* keep_nan(llvm::Value* x, llvm::Value* v) {
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, v);
  }
  // x itself where it is NaN, or so small that parts of it lose bits.
  llvm::Value* keep_tiny(llvm::Value* x, llvm::Value* v) {
    return b_.CreateSelect(b_.CreateFCmpOGE(abs(x), number(0x1p-100)), v, x);
  }
  // NaN gives `high`.
  llvm::Value* clamp(llvm::Value* x, double low, double high) {
    llvm::Value* y = b_.CreateSelect(b_.CreateFCmpOLT(x, number(high)), x, number(high));
    return b_.CreateSelect(b_.CreateFCmpOGT(y, number(low)), y, number(low));
  }

  struct Reduced {
    llvm::Value* n;  // an integer
    llvm::Value* p;  // expm1(r) where x = n ln 2 + r and |r| <= ln 2 / 2
  };
  // The polynomial is the Chebyshev fit of (expm1(r) - r) / r^2.
  Reduced reduce(llvm::Value* x) {
    llvm::Value* n =
        b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, b_.CreateFMul(x, number(kLog2E)));
    // ln 2 in two parts, of which the first has so few bits that its product with n is exact.
    llvm::Value* r = multiply_add(b_, n, number(-0.693359375), x);
    r = multiply_add(b_, n, number(2.12194440e-4), r);
    llvm::Value* q = polynomial(
        b_, r,
        {0.001392626785673201, 0.00836324691772461, 0.04166655242443085, 0.16666576266288757, 0.5});
    return {b_.CreateFPToSI(n, i_), multiply_add(b_, b_.CreateFMul(r, r), q, r)};
  }
  llvm::Value* power_of_two(llvm::Value* n) {
    return floats(b_.CreateShl(b_.CreateAdd(n, integer(127)), integer(23)));
  }
  // exp(x) / 2^shift, for x from -104 to 89 + shift / 2.
  llvm::Value* scaled_exp(llvm::Value* x, int shift) {
    Reduced e = reduce(x);
    llvm::Value* n = shift ? b_.CreateSub(e.n, integer(shift)) : e.n;
    // In two steps, since 2^n may be out of range where the result is not.
    llvm::Value* half = b_.CreateAShr(n, integer(1));
    llvm::Value* v = b_.CreateFMul(b_.CreateFAdd(e.p, number(1)), power_of_two(half));
    return b_.CreateFMul(v, power_of_two(b_.CreateSub(n, half)));
  }
  // expm1(x) / 2^shift, for x from -20 to 88 + shift / 2.
  llvm::Value* scaled_expm1(llvm::Value* x, int shift) {
    Reduced e = reduce(x);
    llvm::Value* power = power_of_two(shift ? b_.CreateSub(e.n, integer(shift)) : e.n);
    double one = shift == 0 ? 1 : shift == 1 ? 0.5 : 0.25;
    return multiply_add(b_, power, e.p, b_.CreateFSub(power, number(one)));
  }

  // k where x = 2^k m and m is from 3/4 to 3/2, at the place of a float's exponent.
  llvm::Value* exponent(llvm::Value* x) {
    return b_.CreateAnd(b_.CreateSub(bits(x), bits(number(0.75))), integer(-1 << 23));
  }
  llvm::Value* count(llvm::Value* k) { return b_.CreateSIToFP(b_.CreateAShr(k, integer(23)), t_); }
  // For t from -1/4 to 1/2: the Chebyshev fit of (t - log1p(t)) / t^2.
  llvm::Value* near_log1p(llvm::Value* t) {
    llvm::Value* q = polynomial(
        b_, t,
        {0.047382425516843796, -0.10625629127025604, 0.13122877478599548, -0.14438456296920776,
         0.16647644340991974, -0.1999359279870987, 0.25000154972076416, -0.33333396911621094, 0.5});
    return multiply_add(b_, b_.CreateFNeg(b_.CreateFMul(t, t)), q, t);
  }
  // For |x| <= 1: x + x P(x^2), the Chebyshev fit of erf(x) / x - 1.
  llvm::Value* near_erf(llvm::Value* x) {
    llvm::Value* p = polynomial(
        b_, b_.CreateFMul(x, x),
        {7.8758750626854883e-5, -0.00080168642871658695, 0.005189087423433974,
         -0.026854212010626412, 0.11283594715160218, -0.37612626666720331, 0.12837916584835095});
    return multiply_add(b_, x, p, x);
  }
  // -infinity at `pole`, NaN below it, infinity at infinity.
  llvm::Value* log_edges(llvm::Value* x, double pole, llvm::Value* log) {
    llvm::Value* edge =
        b_.CreateSelect(b_.CreateFCmpOEQ(x, number(pole)), llvm::ConstantFP::getInfinity(t_, true),
                        llvm::ConstantFP::getNaN(t_));
    log = b_.CreateSelect(b_.CreateFCmpOLT(x, llvm::ConstantFP::getInfinity(t_)), log, x);
    return b_.CreateSelect(b_.CreateFCmpULE(x, number(pole)), edge, log);
  }
  // log(2 a) where `large`, else log1p(y).
  llvm::Value* log_of_double(llvm::Value* large, llvm::Value* a, llvm::Value* y) {
    llvm::Value* log = log1p(b_.CreateSelect(large, a, y));
    return b_.CreateFAdd(log, b_.CreateSelect(large, number(kLn2), number(0)));
  }

  IrBuilder& b_;
  llvm::Type *t_, *i_;
};

}  // namespace

llvm::Value* float_math(IrBuilder& b, Arith op, llvm::Value* x) {
  FloatMath math(b, x);
  switch (op) {
    case Arith::exp: return math.exp(x);
    case Arith::expm1: return math.expm1(x);
    case Arith::log: return math.log(x);
    case Arith::log1p: return math.log1p(x);
    case Arith::sinh: return math.sinh(x);
    case Arith::cosh: return math.cosh(x);
    case Arith::tanh: return math.tanh(x);
    case Arith::asinh: return math.asinh(x);
    case Arith::acosh: return math.acosh(x);
    case Arith::erf: return math.erf(x);
    case Arith::erfc: return math.erfc(x);
    default: return nullptr;
  }
}

llvm::Value* multiply_add(IrBuilder& b, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return host_isa().avx2 ? b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z})
                         : b.CreateFAdd(b.CreateFMul(x, y), z);
}

llvm::Value* polynomial(IrBuilder& b, llvm::Value* x, std::initializer_list<double> coefficients) {
  llvm::Value* p = nullptr;
  for (double c : coefficients) {
    llvm::Value* k = llvm::ConstantFP::get(x->getType(), c);
    p = p ? multiply_add(b, p, x, k) : k;
  }
  return p;
}

}  // namespace tessera::inline v0::codegen
