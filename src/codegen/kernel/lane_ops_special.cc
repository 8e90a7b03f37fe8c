// Functions that SLEEF lacks, or gives over too small a range.
#include "codegen/kernel/float_math.h"
#include "codegen/kernel/lane_ops.h"
#include "codegen/kernel/llvm_ir.h"

namespace tessera::inline v0::codegen {

// M. Giles, "Approximating the erfinv function", GPU Computing Gems (2011): polynomials in w =
// -log(1 - x^2) by range. The float32 ones are those that JAX evaluates. 1 - x^2 is formed as (1 -
// x)(1 + x), whose error stays small near 1.
llvm::Value* LaneOps::erf_inv(llvm::Value* x, bool f64) {
  llvm::Type* t = x->getType();
  llvm::Value* rest = b_.CreateFMul(b_.CreateFSub(number(t, 1), x), b_.CreateFAdd(number(t, 1), x));
  llvm::Value* w = b_.CreateFNeg(float_unary(Arith::log, rest, f64));
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

// SLEEF's sinh, cosh, asinh, acosh and log1p of doubles overflow before their results do: large
// numbers go through exponentials of half the argument, and logarithms.
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
  if (odd) far = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, far, x);
  return b_.CreateSelect(large, far, near);
}

}  // namespace tessera::inline v0::codegen
