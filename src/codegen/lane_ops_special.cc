// Functions that SLEEF lacks, or gives too slowly or over too small a range.
#include "codegen/isa.h"
#include "codegen/lane_ops.h"
#include "codegen/llvm_ir.h"

namespace tessera::inline v0::codegen {
namespace {

// x * y + z, rounded once where the processor can.
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

llvm::Constant* integral(llvm::Type* t, int n) { return llvm::ConstantInt::getSigned(t, n); }

}  // namespace

// Giles, "Approximating the erfinv function": polynomials in w = -log1p(-x^2) by range.
llvm::Value* LaneOps::erf_inv(llvm::Value* x, bool f64) {
  llvm::Type* t = x->getType();
  llvm::Value* w =
      b_.CreateFNeg(float_unary(Arith::log1p, b_.CreateFNeg(b_.CreateFMul(x, x)), f64));
  llvm::Value* p;
  if (!f64) {
    llvm::Value* low =
        polynomial(b_, b_.CreateFSub(w, number(t, 2.5)),
                   {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f,
                    0.00021858087f, -0.00125372503f, -0.00417768164f, 0.246640727f, 1.50140941f});
    llvm::Value* root = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w);
    llvm::Value* high =
        polynomial(b_, b_.CreateFSub(root, number(t, 3)),
                   {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f,
                    0.00573950773f, -0.0076224613f, 0.00943887047f, 1.00167406f, 2.83297682f});
    p = b_.CreateSelect(b_.CreateFCmpOLT(w, number(t, 5)), low, high);
  } else {
    llvm::Value* low = polynomial(
        b_, b_.CreateFSub(w, number(t, 3.125)),
        {-3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
         1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
         6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
         2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
         1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
         4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
         0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
         0.24015818242558961693,     1.6536545626831027356});
    llvm::Value* root = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w);
    llvm::Value* middle = polynomial(
        b_, b_.CreateFSub(root, number(t, 3.25)),
        {2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
         1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
         2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
         6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
         0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
         -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334,
         3.0838856104922207635});
    llvm::Value* high = polynomial(
        b_, b_.CreateFSub(root, number(t, 5)),
        {-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
         -3.7894654401267369937e-09, 7.6157012080783393804e-09, -1.4960026627149240478e-08,
         2.9147953450901080826e-08, -6.7711997758452339498e-08, 2.2900482228026654717e-07,
         -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
         7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026,
         1.0103004648645343977, 4.8499064014085844221});
    p = b_.CreateSelect(b_.CreateFCmpOLT(w, number(t, 16)), middle, high);
    p = b_.CreateSelect(b_.CreateFCmpOLT(w, number(t, 6.25)), low, p);
  }
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* edge = b_.CreateFCmpOEQ(magnitude, number(t, 1));
  llvm::Value* infinite = b_.CreateFMul(x, llvm::ConstantFP::getInfinity(t));
  return b_.CreateSelect(edge, infinite, b_.CreateFMul(p, x));
}

// SLEEF's sinh, cosh, asinh and acosh overflow before their results do. Floats go through doubles,
// whose range is ample; large doubles through exponentials of half the argument, and logarithms.
llvm::Value* LaneOps::hyperbolic(Arith op, llvm::Value* x, bool f64) {
  llvm::Type* t = x->getType();
  if (!f64)
    return b_.CreateFPTrunc(
        hyperbolic(op, b_.CreateFPExt(x, type(DType::float64, width_of(x))), true), t);
  bool direct = op == Arith::sinh || op == Arith::cosh,
       odd = op == Arith::sinh || op == Arith::asinh;
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* large =
      b_.CreateFCmpOGT(op == Arith::acosh ? x : magnitude, number(t, direct ? 700 : 1e18));
  llvm::Value* near = call_math(op, b_.CreateSelect(large, number(t, 1), x), nullptr, true);
  llvm::Value* far;
  if (direct) {
    llvm::Value* half =
        call_math(Arith::exp, b_.CreateFMul(magnitude, number(t, 0.5)), nullptr, true);
    far = b_.CreateFMul(b_.CreateFMul(half, number(t, 0.5)), half);
  } else {
    far = b_.CreateFAdd(call_math(Arith::log, magnitude, nullptr, true),
                        number(t, 0.693147180559945309417));
  }
  if (odd) far = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, far, x);
  return b_.CreateSelect(large, far, near);
}

// Of floats: e / (e + 2) where e = expm1(2 |x|) = 2^n (expm1(r) + 1) - 1 for 2 |x| = n ln 2 + r.
// The coefficients are the Chebyshev fit of (expm1(r) - r) / r^2 over |r| <= ln 2 / 2. Within 2.5
// ulp of every float; 1 is reached before the bound.
llvm::Value* LaneOps::tanh(llvm::Value* x) {
  llvm::Type *t = x->getType(), *integer = type(DType::int32, width_of(x));
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* bound = number(t, 9.5);
  llvm::Value* y = b_.CreateSelect(b_.CreateFCmpOLT(magnitude, bound), magnitude, bound);
  y = b_.CreateFAdd(y, y);
  llvm::Value* n = b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven,
                                           b_.CreateFMul(y, number(t, 1.44269504088896341)));
  // ln 2 in two parts, of which the first has so few bits that its product with n is exact.
  llvm::Value* r = multiply_add(b_, n, number(t, -0.693359375), y);
  r = multiply_add(b_, n, number(t, 2.12194440e-4), r);
  llvm::Value* q = polynomial(
      b_, r,
      {0.001392626785673201, 0.00836324691772461, 0.04166655242443085, 0.16666576266288757, 0.5});
  llvm::Value* p = multiply_add(b_, b_.CreateFMul(r, r), q, r);
  llvm::Value* power = b_.CreateAdd(b_.CreateFPToSI(n, integer), integral(integer, 127));
  power = b_.CreateBitCast(b_.CreateShl(power, integral(integer, 23)), t);
  llvm::Value* e = multiply_add(b_, power, p, b_.CreateFSub(power, number(t, 1)));
  llvm::Value* result = b_.CreateFDiv(e, b_.CreateFAdd(e, number(t, 2)));
  result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x);
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, result);
}

// Of floats: k ln 2 + log1p(t) where 1 + x = 2^k (1 + t) with t from -1/4 to 1/2, and so
// t = 2^-k x + (2^-k - 1), which is rounded once. The coefficients are the Chebyshev fit of
// (t - log1p(t)) / t^2. Within 1 ulp of every float.
llvm::Value* LaneOps::log1p(llvm::Value* x) {
  llvm::Type *t = x->getType(), *integer = type(DType::int32, width_of(x));
  auto bits = [&](llvm::Value* v) { return b_.CreateBitCast(v, integer); };
  llvm::Value* one = number(t, 1);
  // k where a float has its exponent.
  llvm::Value* k = b_.CreateAnd(b_.CreateSub(bits(b_.CreateFAdd(x, one)), bits(number(t, 0.75))),
                                integral(integer, -1 << 23));
  llvm::Value* scaled = b_.CreateBitCast(b_.CreateSub(bits(x), k), t);
  llvm::Value* four = b_.CreateBitCast(b_.CreateSub(bits(number(t, 4)), k), t);  // 4 / 2^k
  llvm::Value* rest = b_.CreateFAdd(scaled, multiply_add(b_, four, number(t, 0.25), number(t, -1)));
  llvm::Value* q = polynomial(
      b_, rest,
      {0.047382425516843796, -0.10625629127025604, 0.13122877478599548, -0.14438456296920776,
       0.16647644340991974, -0.1999359279870987, 0.25000154972076416, -0.33333396911621094, 0.5});
  llvm::Value* log = multiply_add(b_, b_.CreateFNeg(b_.CreateFMul(rest, rest)), q, rest);
  llvm::Value* exponent = b_.CreateSIToFP(b_.CreateAShr(k, integral(integer, 23)), t);
  log = multiply_add(b_, exponent, number(t, 0.693147180559945309417), log);
  log = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, log, x);  // of -0
  llvm::Value* infinity = llvm::ConstantFP::getInfinity(t);
  log = b_.CreateSelect(b_.CreateFCmpOLT(x, infinity), log, x);
  llvm::Value* edge =
      b_.CreateSelect(b_.CreateFCmpOEQ(x, number(t, -1)), llvm::ConstantFP::getInfinity(t, true),
                      llvm::ConstantFP::getNaN(t));
  return b_.CreateSelect(b_.CreateFCmpULE(x, number(t, -1)), edge, log);
}

}  // namespace tessera::inline v0::codegen
