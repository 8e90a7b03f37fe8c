#include "codegen/kernel/lane_ops.h"

#include "base/message.h"
#include "codegen/kernel/llvm_ir.h"

namespace tessera::inline v0::codegen {

namespace {

llvm::Type* widened(llvm::Type* t, int width) {
  return width ? llvm::FixedVectorType::get(t, width) : t;
}

bool exact_in_half(Arith op) {
  switch (op) {
    case Arith::neg:
    case Arith::abs:
    case Arith::sign:
    case Arith::floor:
    case Arith::ceil:
    case Arith::round_nearest_even:
    case Arith::round_away:
    case Arith::max:
    case Arith::min: return true;
    default: return false;
  }
}

bool is_comparison(Arith op) { return op >= Arith::eq; }

bool was_half(llvm::Value* v) {
  auto* widened = llvm::dyn_cast<llvm::FPExtInst>(v);
  return widened && widened->getSrcTy()->getScalarType()->isHalfTy();
}

}  // namespace

llvm::Type* LaneOps::type(DType d, int width) const {
  llvm::LLVMContext& c = module_.getContext();
  if (is_complex(d)) {
    llvm::Type* part = type(real_dtype(d), width);
    return llvm::StructType::get(part, part);
  }
  if (d == DType::boolean) return widened(llvm::Type::getInt1Ty(c), width);
  if (d == DType::float64) return widened(llvm::Type::getDoubleTy(c), width);
  if (is_floating(d)) return widened(llvm::Type::getFloatTy(c), width);
  return widened(llvm::Type::getIntNTy(c, 8 * static_cast<unsigned>(size_of(d))), width);
}

llvm::Type* LaneOps::memory_type(DType d, int width) const {
  llvm::LLVMContext& c = module_.getContext();
  if (d == DType::boolean) return widened(llvm::Type::getInt8Ty(c), width);
  if (d == DType::float16) return widened(llvm::Type::getHalfTy(c), width);
  if (d == DType::bfloat16) return widened(llvm::Type::getInt16Ty(c), width);
  return type(d, width);
}

Lane LaneOps::from_memory(llvm::Value* v, DType d, int width) {
  if (d == DType::boolean)
    return lane(b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())), d);
  if (d == DType::float16) return lane(from_half(v), d);
  if (d == DType::bfloat16) {
    llvm::Type* wide = type(DType::int32, width);
    v = b_.CreateShl(b_.CreateZExt(v, wide), llvm::ConstantInt::get(wide, 16));
    return lane(b_.CreateBitCast(v, type(d, width)), d);
  }
  return lane(v, d);
}

llvm::Value* LaneOps::to_memory(const Lane& x) {
  const LaneValue& l = value(x);
  llvm::Type* t = memory_type(l.dtype, l.width);
  if (l.dtype == DType::boolean) return b_.CreateZExt(l.v, t);
  if (l.dtype == DType::float16) return b_.CreateFPTrunc(l.v, t);
  if (l.dtype == DType::bfloat16) {
    llvm::Type* wide = type(DType::int32, l.width);
    return b_.CreateTrunc(
        b_.CreateLShr(b_.CreateBitCast(l.v, wide), llvm::ConstantInt::get(wide, 16)), t);
  }
  return l.v;
}

Lane LaneOps::lane(llvm::Value* v, DType d) {
  if (auto* c = llvm::dyn_cast<llvm::Constant>(v)) {
    const LaneValue*& known = constants_[{d, c}];
    if (!known) known = &values_.emplace_back(LaneValue{v, d, width_of(v)});
    return {known, d};
  }
  return {&values_.emplace_back(LaneValue{v, d, width_of(v)}), d};
}

llvm::Value* LaneOps::splat(llvm::Value* v, int width) {
  if (width_of(v) || !width) return v;
  if (v->getType()->isStructTy()) return joined(splat(part(v, 0), width), splat(part(v, 1), width));
  return b_.CreateVectorSplat(static_cast<unsigned>(width), v);
}
llvm::Value* LaneOps::vector(const Lane& x, int width) { return splat(value(x).v, width); }

llvm::Value* LaneOps::number(llvm::Type* like, double value) {
  return llvm::ConstantFP::get(like, value);
}

Lane LaneOps::constant(DType d, double value) {
  if (is_complex(d)) return complex(constant(real_dtype(d), value), constant(real_dtype(d), 0.0));
  if (!is_floating(d)) return constant(d, static_cast<std::int64_t>(value));
  if (d != DType::float64) value = static_cast<float>(value);
  if (d == DType::float16) value = static_cast<float>(float16_t(static_cast<float>(value)));
  if (d == DType::bfloat16) value = static_cast<float>(bfloat16_t(static_cast<float>(value)));
  return lane(llvm::ConstantFP::get(type(d), value), d);
}
Lane LaneOps::constant(DType d, std::int64_t value) {
  if (is_inexact(d)) return constant(d, static_cast<double>(value));
  if (d == DType::boolean) value = value != 0;
  return lane(llvm::ConstantInt::get(type(d), static_cast<std::uint64_t>(value), true), d);
}

llvm::Value* LaneOps::from_half(llvm::Value* v) {
  return b_.CreateFPExt(v, type(DType::float16, width_of(v)));
}

llvm::Value* LaneOps::round(llvm::Value* v, DType d) {
  int width = width_of(v);
  if (d == DType::float16) return from_half(b_.CreateFPTrunc(v, memory_type(d, width)));
  if (d != DType::bfloat16) return v;
  // Rounds to nearest even on the upper 16 bits; a NaN keeps its upper payload and becomes quiet.
  llvm::Type* t = type(DType::uint32, width);
  auto k = [&](std::uint32_t x) { return llvm::ConstantInt::get(t, x); };
  llvm::Value* bits = b_.CreateBitCast(v, t);
  llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(bits, k(16)), k(1));
  llvm::Value* rounded = b_.CreateAdd(bits, b_.CreateAdd(odd, k(0x7fff)));
  llvm::Value* nan = b_.CreateFCmpUNO(v, v);
  rounded = b_.CreateSelect(nan, b_.CreateOr(bits, k(0x400000)), rounded);
  return b_.CreateBitCast(b_.CreateAnd(rounded, k(0xffff0000u)), v->getType());
}

Lane LaneOps::unary(Arith op, Lane x) {
  if (is_complex(x.dtype)) return complex_unary(op, x);
  llvm::Value* v = value(x).v;
  if (op == Arith::is_finite) {
    if (!is_floating(x.dtype)) return constant(DType::boolean, std::int64_t{1});
    llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
    return lane(b_.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(v->getType())),
                DType::boolean);
  }
  if (!is_floating(x.dtype)) return lane(integer_unary(op, v, x.dtype), x.dtype);
  llvm::Value* r = float_unary(op, v, x.dtype == DType::float64);
  return lane(exact_in_half(op) ? r : round(r, x.dtype), x.dtype);
}

Lane LaneOps::binary(Arith op, Lane x, Lane y) {
  if (x.dtype != y.dtype)
    throw InternalError("emitter: operands of a binary operation differ in dtype");
  if (op == Arith::complex) return complex(x, y);
  if (is_complex(x.dtype)) return complex_binary(op, x, y);
  int width = std::max(value(x).width, value(y).width);
  llvm::Value *a = vector(x, width), *c = vector(y, width);
  if (is_comparison(op)) return lane(compare(op, a, c, x.dtype), DType::boolean);
  if (!is_floating(x.dtype)) return lane(integer_binary(op, a, c, x.dtype), x.dtype);
  // The fence stops LLVM from narrowing the maximum of extended halves to a maximum of halves. On
  // processors without that instruction, LLVM 19 computes 0 for the maximum of NaN and 0.
  if ((op == Arith::max || op == Arith::min) &&
      (x.dtype == DType::float16 || (was_half(a) && was_half(c))))
    a = b_.CreateArithmeticFence(a, a->getType());
  llvm::Value* r = float_binary(op, a, c, x.dtype == DType::float64);
  return lane(exact_in_half(op) ? r : round(r, x.dtype), x.dtype);
}

Lane LaneOps::select(Lane condition, Lane on_true, Lane on_false) {
  if (on_true.dtype != on_false.dtype)
    throw InternalError("emitter: branches of a select differ in dtype");
  if (is_complex(on_true.dtype))
    return complex(select(condition, part(on_true, 0), part(on_false, 0)),
                   select(condition, part(on_true, 1), part(on_false, 1)));
  int width = std::max({value(condition).width, value(on_true).width, value(on_false).width});
  llvm::Value* c = value(condition).v;  // a scalar condition selects whole vectors
  return lane(b_.CreateSelect(c, vector(on_true, width), vector(on_false, width)), on_true.dtype);
}

llvm::Value* LaneOps::compare(Arith op, llvm::Value* x, llvm::Value* y, DType d) {
  using P = llvm::CmpInst;
  bool f = is_floating(d), s = is_signed_integer(d);
  switch (op) {
    case Arith::eq: return f ? b_.CreateFCmpOEQ(x, y) : b_.CreateICmpEQ(x, y);
    case Arith::ne: return f ? b_.CreateFCmpUNE(x, y) : b_.CreateICmpNE(x, y);
    case Arith::lt:
      return f ? b_.CreateFCmpOLT(x, y) : b_.CreateICmp(s ? P::ICMP_SLT : P::ICMP_ULT, x, y);
    case Arith::le:
      return f ? b_.CreateFCmpOLE(x, y) : b_.CreateICmp(s ? P::ICMP_SLE : P::ICMP_ULE, x, y);
    case Arith::gt:
      return f ? b_.CreateFCmpOGT(x, y) : b_.CreateICmp(s ? P::ICMP_SGT : P::ICMP_UGT, x, y);
    default: return f ? b_.CreateFCmpOGE(x, y) : b_.CreateICmp(s ? P::ICMP_SGE : P::ICMP_UGE, x, y);
  }
}

Lane LaneOps::convert(Lane x, DType to) {
  DType from = x.dtype;
  if (from == to) return x;
  if (is_complex(from) || is_complex(to)) return complex_convert(x, to);
  const LaneValue& l = value(x);
  llvm::Type* t = type(to, l.width);
  llvm::Value* v = l.v;
  if (to == DType::boolean) {
    llvm::Value* zero = llvm::Constant::getNullValue(v->getType());
    return lane(is_floating(from) ? b_.CreateFCmpUNE(v, zero) : b_.CreateICmpNE(v, zero), to);
  }
  if (is_floating(from) && is_floating(to)) {
    if (from == DType::float64) v = b_.CreateFPTrunc(v, type(DType::float32, l.width));
    if (to == DType::float64) return lane(b_.CreateFPExt(v, t), to);
    return lane(round(v, to), to);
  }
  if (is_floating(from)) {
    auto id = is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return lane(b_.CreateIntrinsic(id, {t, v->getType()}, {v}), to);
  }
  if (is_floating(to)) {
    v = is_signed_integer(from) ? b_.CreateSIToFP(v, t) : b_.CreateUIToFP(v, t);
    return lane(to == DType::float64 || to == DType::float32 ? v : round(v, to), to);
  }
  return lane(b_.CreateIntCast(v, t, is_signed_integer(from)), to);
}

Lane LaneOps::bitcast(Lane x, DType to) {
  DType from = x.dtype;
  if (from == to) return x;
  if (size_of(from) != size_of(to)) throw InternalError("emitter: bitcast between widths");
  int width = value(x).width;
  llvm::Value* bits = b_.CreateBitCast(
      to_memory(x), widened(b_.getIntNTy(8 * static_cast<unsigned>(size_of(from))), width));
  return from_memory(b_.CreateBitCast(bits, memory_type(to, width)), to, width);
}

}  // namespace tessera::inline v0::codegen
