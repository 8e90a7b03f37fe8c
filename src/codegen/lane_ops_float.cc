// Floating-point arithmetic of the emitter: IEEE operations, and vector math functions for the
// rest.
#include "base/message.h"
#include "codegen/isa.h"
#include "codegen/lane_ops.h"
#include "codegen/llvm_ir.h"
#include "codegen/math_functions.h"

#include <limits>
#include <string>

namespace tessera::inline v0::codegen {

namespace {

int width_of(const llvm::Value* v) {
  auto* t = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return t ? static_cast<int>(t->getNumElements()) : 0;
}

// Beyond this magnitude SLEEF's trigonometric functions reduce all lanes of a vector in the slow
// way.
double fast_range(bool f64) { return f64 ? 15.0 : 125.0; }
bool is_trigonometric(Arith op) { return op == Arith::sin || op == Arith::cos || op == Arith::tan; }

llvm::Function* declare(llvm::Module& m, const char* name, llvm::FunctionType* type) {
  auto* f = llvm::cast<llvm::Function>(m.getOrInsertFunction(name, type).getCallee());
  f->setDoesNotThrow();
  f->setDoesNotAccessMemory();
  f->addFnAttr(llvm::Attribute::WillReturn);
  return f;
}

// A function that evaluates lanes in the fast range and the others separately: what a lane gives
// must not depend on its neighbours.
llvm::Function* separated(llvm::Module& m, llvm::Function* math, llvm::FunctionType* type,
                          double range) {
  llvm::LLVMContext& c = m.getContext();
  std::string name = math->getName().str() + "_separated";
  auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, m);
  f->setDoesNotThrow();
  f->setDoesNotAccessMemory();
  f->addFnAttr(llvm::Attribute::WillReturn);
  auto* entry = llvm::BasicBlock::Create(c, "entry", f);
  auto* slow = llvm::BasicBlock::Create(c, "slow", f);
  auto* done = llvm::BasicBlock::Create(c, "done", f);
  IrBuilder b(entry);
  llvm::Value* x = f->getArg(0);
  llvm::Type* t = x->getType();
  llvm::Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* fast = b.CreateFCmpOLT(magnitude, llvm::ConstantFP::get(t, range));
  llvm::Value* near =
      b.CreateCall(math, {b.CreateSelect(fast, x, llvm::Constant::getNullValue(t))});
  b.CreateCondBr(b.CreateAndReduce(fast), done, slow);
  b.SetInsertPoint(slow);
  llvm::Value* far =
      b.CreateCall(math, {b.CreateSelect(fast, llvm::ConstantFP::get(t, 2 * range), x)});
  llvm::Value* mixed = b.CreateSelect(fast, near, far);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  auto* phi = b.CreatePHI(t, 2);
  phi->addIncoming(near, entry);
  phi->addIncoming(mixed, slow);
  b.CreateRet(phi);
  return f;
}

llvm::Value* horner(IrBuilder& b, llvm::Value* w, std::initializer_list<double> coefficients) {
  llvm::Value* p = nullptr;
  for (double c : coefficients) {
    llvm::Value* k = llvm::ConstantFP::get(w->getType(), c);
    p = p ? b.CreateFAdd(k, b.CreateFMul(p, w)) : k;
  }
  return p;
}

}  // namespace

llvm::Value* LaneOps::math_callee(Arith op, bool f64, int operands) {
  llvm::Value*& known = callees_[{op, f64}];
  if (known) return known;
  MathFunction fn = math_function(op, f64);
  if (!fn.name)
    throw InternalError("emitter: no vector function for operation " +
                        std::to_string(static_cast<int>(op)));
  llvm::Type* t =
      type(f64 ? DType::float64 : DType::float32, f64 ? host_isa().math64 : host_isa().math32);
  auto* ft = llvm::FunctionType::get(
      t, std::vector<llvm::Type*>(static_cast<std::size_t>(operands), t), false);
  if (is_trigonometric(op)) {
    if (auto* f = module_.getFunction(std::string(fn.name) + "_separated"))
      known = f;
    else
      known = separated(module_, declare(module_, fn.name, ft), ft, fast_range(f64));
  } else {
    known = declare(module_, fn.name, ft);
  }
  return known;
}

// The function works on a fixed number of lanes: longer vectors are cut, shorter ones repeat their
// lanes.
llvm::Value* LaneOps::call_math(Arith op, llvm::Value* x, llvm::Value* y, bool f64) {
  auto* callee = llvm::cast<llvm::Function>(math_callee(op, f64, y ? 2 : 1));
  int lanes = f64 ? host_isa().math64 : host_isa().math32, width = width_of(x);
  auto piece = [&](llvm::Value* v, int begin) {
    if (!width) return splat(v, lanes);
    std::vector<int> mask;
    for (int i = 0; i < lanes; ++i) mask.push_back((begin + i) % width);
    return width == lanes ? v : b_.CreateShuffleVector(v, mask);
  };
  std::vector<llvm::Value*> parts;
  for (int i = 0; i < std::max(width, 1); i += lanes) {
    std::vector<llvm::Value*> args{piece(x, i)};
    if (y) args.push_back(piece(y, i));
    parts.push_back(b_.CreateCall(callee, args));
  }
  if (!width) return b_.CreateExtractElement(parts[0], std::uint64_t{0});
  while (parts.size() > 1) {
    std::vector<llvm::Value*> joined;
    int n = width_of(parts[0]);
    std::vector<int> mask;
    for (int i = 0; i < 2 * n; ++i) mask.push_back(i);
    for (std::size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(b_.CreateShuffleVector(parts[i], parts[i + 1], mask));
    parts = std::move(joined);
  }
  if (width < lanes) {
    std::vector<int> mask;
    for (int i = 0; i < width; ++i) mask.push_back(i);
    return b_.CreateShuffleVector(parts[0], mask);
  }
  return parts[0];
}

// Giles, "Approximating the erfinv function": polynomials in w = -log1p(-x^2) by range.
llvm::Value* LaneOps::erf_inv(llvm::Value* x, bool f64) {
  llvm::Type* t = x->getType();
  llvm::Value* w =
      b_.CreateFNeg(call_math(Arith::log1p, b_.CreateFNeg(b_.CreateFMul(x, x)), nullptr, f64));
  llvm::Value* p;
  if (!f64) {
    llvm::Value* low =
        horner(b_, b_.CreateFSub(w, number(t, 2.5)),
               {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                -0.00125372503f, -0.00417768164f, 0.246640727f, 1.50140941f});
    llvm::Value* root = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w);
    llvm::Value* high =
        horner(b_, b_.CreateFSub(root, number(t, 3)),
               {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                -0.0076224613f, 0.00943887047f, 1.00167406f, 2.83297682f});
    p = b_.CreateSelect(b_.CreateFCmpOLT(w, number(t, 5)), low, high);
  } else {
    llvm::Value* low =
        horner(b_, b_.CreateFSub(w, number(t, 3.125)),
               {-3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
                1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
                6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
                2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
                1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
                4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
                0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
                0.24015818242558961693,     1.6536545626831027356});
    llvm::Value* root = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w);
    llvm::Value* middle =
        horner(b_, b_.CreateFSub(root, number(t, 3.25)),
               {2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
                1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
                2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
                6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
                0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
                -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334,
                3.0838856104922207635});
    llvm::Value* high =
        horner(b_, b_.CreateFSub(root, number(t, 5)),
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

llvm::Value* LaneOps::float_unary(Arith op, llvm::Value* v, bool f64) {
  llvm::Type* t = v->getType();
  auto intrinsic = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, v); };
  switch (op) {
    case Arith::neg: return b_.CreateFNeg(v);
    case Arith::abs: return intrinsic(llvm::Intrinsic::fabs);
    case Arith::sign: {  // zeros and NaN give themselves
      llvm::Value* zero = number(t, 0);
      llvm::Value* below = b_.CreateSelect(b_.CreateFCmpOLT(v, zero), number(t, -1), v);
      return b_.CreateSelect(b_.CreateFCmpOGT(v, zero), number(t, 1), below);
    }
    case Arith::floor: return intrinsic(llvm::Intrinsic::floor);
    case Arith::ceil: return intrinsic(llvm::Intrinsic::ceil);
    case Arith::round_nearest_even: return intrinsic(llvm::Intrinsic::roundeven);
    case Arith::round_away: return intrinsic(llvm::Intrinsic::round);
    case Arith::sqrt: return intrinsic(llvm::Intrinsic::sqrt);
    case Arith::rsqrt: return b_.CreateFDiv(number(t, 1), intrinsic(llvm::Intrinsic::sqrt));
    case Arith::logistic: {
      llvm::Value* e = call_math(Arith::exp, b_.CreateFNeg(v), nullptr, f64);
      return b_.CreateFDiv(number(t, 1), b_.CreateFAdd(number(t, 1), e));
    }
    case Arith::erf_inv: return erf_inv(v, f64);
    case Arith::sinh:
    case Arith::cosh:
    case Arith::asinh:
    case Arith::acosh: return hyperbolic(op, v, f64);
    default: return call_math(op, v, nullptr, f64);
  }
}

llvm::Value* LaneOps::float_binary(Arith op, llvm::Value* x, llvm::Value* y, bool f64) {
  switch (op) {
    case Arith::add: return b_.CreateFAdd(x, y);
    case Arith::sub: return b_.CreateFSub(x, y);
    case Arith::mul: return b_.CreateFMul(x, y);
    case Arith::div: return b_.CreateFDiv(x, y);
    case Arith::rem: return b_.CreateFRem(x, y);
    case Arith::max: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, y);
    case Arith::min: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x, y);
    case Arith::pow:
    case Arith::atan2: return call_math(op, x, y, f64);
    default: break;
  }
  throw InternalError("emitter: no such operation on floating-point numbers");
}

}  // namespace tessera::inline v0::codegen
