// Floating-point arithmetic of the emitter: IEEE operations, and vector math functions for
// everything else.
#include "base/message.h"
#include "codegen/kernel/float_math.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/lane_ops.h"
#include "codegen/kernel/llvm_ir.h"
#include "codegen/kernel/math_functions.h"
#include "codegen/kernel/pieces.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <limits>
#include <string>
#include <vector>

namespace tessera::inline v0::codegen {

namespace {

// Beyond this magnitude SLEEF's trigonometric functions use the slow range reduction for all lanes
// of a vector.
double fast_range(bool f64) { return f64 ? 15.0 : 125.0; }
bool is_trigonometric(Arith op) { return op == Arith::sin || op == Arith::cos || op == Arith::tan; }

llvm::Function* declare(llvm::Module& m, const char* name, llvm::FunctionType* type) {
  auto* f = llvm::cast<llvm::Function>(m.getOrInsertFunction(name, type).getCallee());
  f->setDoesNotThrow();
  f->setDoesNotAccessMemory();
  f->addFnAttr(llvm::Attribute::WillReturn);
  return f;
}

// A function that evaluates lanes in the fast range separately from the others, because the result
// of a lane must not depend on its neighbours.
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

// SLEEF's float64 power overflows from 2e-6 (relative) below the largest double. The power of half
// the exponent does not, so its square is used there.
llvm::Function* power_to_the_end(llvm::Module& m, llvm::Function* math, llvm::FunctionType* type) {
  llvm::LLVMContext& c = m.getContext();
  std::string name = math->getName().str() + "_to_the_end";
  auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, m);
  f->setDoesNotThrow();
  f->setDoesNotAccessMemory();
  f->addFnAttr(llvm::Attribute::WillReturn);
  auto* entry = llvm::BasicBlock::Create(c, "entry", f);
  auto* large = llvm::BasicBlock::Create(c, "large", f);
  auto* done = llvm::BasicBlock::Create(c, "done", f);
  IrBuilder b(entry);
  llvm::Value *x = f->getArg(0), *y = f->getArg(1);
  llvm::Type* t = x->getType();
  auto magnitude = [&](llvm::Value* v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  llvm::Value* power = b.CreateCall(math, {x, y});
  // If the exponent is at most a half, an infinite result is exact, and the root might not be.
  llvm::Value* infinite =
      b.CreateAnd(b.CreateFCmpOEQ(magnitude(power), llvm::ConstantFP::getInfinity(t)),
                  b.CreateFCmpOGT(magnitude(y), llvm::ConstantFP::get(t, 0.5)));
  b.CreateCondBr(b.CreateOrReduce(infinite), large, done);
  b.SetInsertPoint(large);
  llvm::Value* half = b.CreateFMul(y, llvm::ConstantFP::get(t, 0.5));
  llvm::Value* root = b.CreateCall(math, {magnitude(x), half});
  llvm::Value* square =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b.CreateFMul(root, root), power);
  llvm::Value* mixed = b.CreateSelect(infinite, square, power);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  auto* phi = b.CreatePHI(t, 2);
  phi->addIncoming(power, entry);
  phi->addIncoming(mixed, large);
  b.CreateRet(phi);
  return f;
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
  bool power = op == Arith::pow && f64;
  if (!is_trigonometric(op) && !power) return known = declare(module_, fn.name, ft);
  known = module_.getFunction(std::string(fn.name) + (power ? "_to_the_end" : "_separated"));
  if (known) return known;
  llvm::Function* math = declare(module_, fn.name, ft);
  return known = power ? power_to_the_end(module_, math, ft)
                       : separated(module_, math, ft, fast_range(f64));
}

llvm::Value* LaneOps::call_math(Arith op, llvm::Value* x, llvm::Value* y, bool f64) {
  auto* callee = llvm::cast<llvm::Function>(math_callee(op, f64, y ? 2 : 1));
  std::vector<llvm::Value*> operands{x};
  if (y) operands.push_back(y);
  return in_pieces(b_, f64 ? host_isa().math64 : host_isa().math32, operands,
                   [&](const std::vector<llvm::Value*>& pieces) -> llvm::Value* {
                     return b_.CreateCall(callee, pieces);
                   });
}

llvm::Value* LaneOps::float_unary(Arith op, llvm::Value* v, bool f64) {
  if (llvm::Value* own = f64 ? nullptr : float_math(b_, op, v)) return own;
  llvm::Type* t = v->getType();
  auto intrinsic = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, v); };
  switch (op) {
    case Arith::neg: return b_.CreateFNeg(v);
    case Arith::abs: return intrinsic(llvm::Intrinsic::fabs);
    case Arith::sign: {  // zeros and NaN are returned unchanged
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
    case Arith::logistic: {  // e / (1 + e) below zero, where exp(-x) would overflow
      llvm::Value* magnitude = intrinsic(llvm::Intrinsic::fabs);
      llvm::Value* e = float_unary(Arith::exp, b_.CreateFNeg(magnitude), f64);
      llvm::Value* below = b_.CreateFCmpOLT(v, number(t, 0));
      return b_.CreateFDiv(b_.CreateSelect(below, e, number(t, 1)), b_.CreateFAdd(number(t, 1), e));
    }
    case Arith::erf_inv: return erf_inv(v, f64);
    case Arith::sin:
    case Arith::cos:
    case Arith::tan:
      return f64 || !host_isa().avx2 ? call_math(op, v, nullptr, f64) : periodic_of_any(op, v);
    case Arith::sinh:
    case Arith::cosh:
    case Arith::asinh:
    case Arith::acosh:
    case Arith::log1p: return over_whole_range(op, v);
    default: return call_math(op, v, nullptr, f64);
  }
}

// The larger or smaller of two numbers: NaN if either is NaN, and -0 < 0. The vrange instruction
// orders zeros but ignores a NaN operand; with a correction for NaN it takes three instructions per
// register, and LLVM's general form six.
llvm::Value* LaneOps::extreme(Arith op, llvm::Value* x, llvm::Value* y, bool f64) {
  const bool larger = op == Arith::max;
  const int lanes = f64 ? 8 : 16, width = width_of(x);
  if (!host_isa().avx512 || width % lanes != 0 || width == 0)
    return b_.CreateBinaryIntrinsic(larger ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, x,
                                    y);
  // The result has the sign of the operand that is selected.
  constexpr std::uint32_t kSignOfTaken = 1 << 2, kCurrentRounding = 4;
  llvm::Value* all_lanes =
      llvm::Constant::getAllOnesValue(b_.getIntNTy(static_cast<unsigned>(lanes)));
  llvm::Value* of_numbers =
      in_pieces(b_, lanes, {x, y}, [&](const std::vector<llvm::Value*>& v) -> llvm::Value* {
        return b_.CreateIntrinsic(f64 ? llvm::Intrinsic::x86_avx512_mask_range_pd_512
                                      : llvm::Intrinsic::x86_avx512_mask_range_ps_512,
                                  {},
                                  {v[0], v[1], b_.getInt32(kSignOfTaken | (larger ? 1 : 0)), v[0],
                                   all_lanes, b_.getInt32(kCurrentRounding)});
      });
  return b_.CreateSelect(b_.CreateFCmpUNO(x, y), b_.CreateFAdd(x, y), of_numbers);
}

llvm::Value* LaneOps::float_binary(Arith op, llvm::Value* x, llvm::Value* y, bool f64) {
  switch (op) {
    case Arith::add: return b_.CreateFAdd(x, y);
    case Arith::sub: return b_.CreateFSub(x, y);
    case Arith::mul: return b_.CreateFMul(x, y);
    case Arith::div: return b_.CreateFDiv(x, y);
    case Arith::rem: return b_.CreateFRem(x, y);
    case Arith::max:
    case Arith::min: return extreme(op, x, y, f64);
    case Arith::pow: return f64 || !host_isa().avx2 ? call_math(op, x, y, f64) : power(b_, x, y);
    case Arith::atan2: return atan2_of_any(x, y, f64);
    default: break;
  }
  throw InternalError("emitter: no such operation on floating-point numbers");
}

}  // namespace tessera::inline v0::codegen
