#include "codegen/matrix/terms.h"

#include "base/message.h"
#include "codegen/kernel/isa.h"
#include "codegen/matrix/terms_ir.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <string_view>

namespace tessera::inline v0::codegen::matrix {

namespace {

using Values = std::vector<llvm::Value*>;

bool is_x86() { return std::string_view(host_isa().triple).starts_with("x86_64"); }

// The type of an element, or of its parts.
llvm::Type* type_of(IrBuilder& b, DType dtype) {
  switch (dtype) {
    // The bits of a bfloat16 are the upper half of a float32, so LLVM's type is not needed.
    case DType::bfloat16: return b.getInt16Ty();
    case DType::float16: return b.getHalfTy();
    case DType::complex64:
    case DType::float32: return b.getFloatTy();
    case DType::complex128:
    case DType::float64: return b.getDoubleTy();
    default: return b.getIntNTy(static_cast<unsigned>(8 * size_of(dtype)));
  }
}

// The intrinsic for the width of this processor's registers.
llvm::Intrinsic::ID by_width(llvm::Intrinsic::ID narrow, llvm::Intrinsic::ID middle,
                             llvm::Intrinsic::ID wide) {
  const int bytes = host_isa().vector_bytes;
  return bytes == 64 ? wide : bytes == 32 ? middle : narrow;
}

// A call whose operands have the intrinsic's types, which differ between versions of LLVM.
llvm::Value* call(IrBuilder& b, llvm::Intrinsic::ID id, const Values& operands) {
  llvm::FunctionType* type = llvm::Intrinsic::getType(b.getContext(), id);
  Values typed;
  for (std::size_t i = 0; i < operands.size(); ++i)
    typed.push_back(b.CreateBitCast(operands[i], type->getParamType(static_cast<unsigned>(i))));
  return b.CreateIntrinsic(id, {}, typed);
}

}  // namespace

int lanes_of(DType sum) {
  const auto part = static_cast<int>(size_of(sum)) / (is_complex(sum) ? 2 : 1);
  return host_isa().vector_bytes / part;
}

Kind integer_kind(DType operand, DType sum) {
  if (sum == DType::int32 && is_x86()) {
    if (operand == DType::int8 && host_isa().int8) return {sum, Terms::quads_int8};
    if (operand == DType::int8 || operand == DType::uint8 || operand == DType::int16)
      return {sum, Terms::pairs_int16};
  }
  return {sum, Terms::single};
}

bool has_bfloat16_pairs() { return host_isa().bfloat16; }

std::optional<Terms> unit_terms(DType operand, DType sum) {
  const Isa& isa = host_isa();
  std::optional<Terms> terms;
  if (sum == DType::float32) {
    if (operand == DType::bfloat16 && isa.unit_bfloat16) terms = Terms::unit_bfloat16;
    if (operand == DType::float16 && isa.unit_float16) terms = Terms::unit_float16;
  } else if (sum == DType::int32 && isa.unit_int8) {
    if (operand == DType::int8) terms = Terms::unit_int8;
    if (operand == DType::uint8) terms = Terms::unit_uint8;
  }
  // Only a product that would use the unit requests it from the system.
  return terms && matrix_unit() != MatrixUnit::none ? terms : std::nullopt;
}

TermsIr::TermsIr(IrBuilder& b, const Kind& kind, DType from, bool shifted)
    : b_(b),
      kind_(kind),
      dtype_(from),
      shifted_(shifted && kind.terms == Terms::quads_int8),
      lanes_(lanes_of(kind.sum)),
      // The unit reads the bits of float16.
      from_(kind.terms == Terms::unit_float16 ? b.getInt16Ty() : type_of(b, from)),
      sum_(type_of(b, kind.sum)) {
  word_ = kind.terms == Terms::single ? sum_ : b.getInt32Ty();
}

llvm::Type* TermsIr::vector_of(llvm::Type* element, int count) const {
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_ * count));
}

llvm::Value* TermsIr::convert(llvm::Value* v, llvm::Type* element) {
  llvm::Type* to = element;
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType()))
    to = llvm::FixedVectorType::get(element, vector->getNumElements());
  if (v->getType() == to) return v;
  if (dtype_ == DType::bfloat16 && element->isFloatingPointTy()) {
    llvm::Type *bits = to->getWithNewType(b_.getInt32Ty()),
               *wide = to->getWithNewType(b_.getFloatTy());
    auto* number = b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(v, bits), 16), wide);
    return element->isFloatTy() ? number : b_.CreateFPExt(number, to);
  }
  if (element->isFloatingPointTy()) {
    if (is_floating(dtype_)) return b_.CreateFPExt(v, to);
    return is_unsigned_integer(dtype_) ? b_.CreateUIToFP(v, to) : b_.CreateSIToFP(v, to);
  }
  return is_unsigned_integer(dtype_) || is_floating(dtype_) ? b_.CreateZExtOrTrunc(v, to)
                                                            : b_.CreateSExtOrTrunc(v, to);
}

llvm::Value* TermsIr::finish(llvm::Value* words) {
  if (!shifted_) return words;
  // The sign bit of every byte is flipped, which adds 128.
  return b_.CreateXor(words, llvm::ConstantInt::get(words->getType(), 0x80808080u));
}

llvm::Value* TermsIr::words_of_rows(const Values& rows) {
  if (kind_.terms == Terms::single) return convert(rows[0], word_);
  const int bits = 32 / steps();
  llvm::Value* words = nullptr;
  for (int i = steps(); i-- > 0;) {
    llvm::Value* row = convert(rows[static_cast<std::size_t>(i)], word_);
    // The upper bits of all rows but the last are overwritten by those of the following rows.
    if (i + 1 < steps())
      row = b_.CreateAnd(row, llvm::ConstantInt::get(row->getType(), (1u << bits) - 1));
    row = b_.CreateShl(row, static_cast<std::uint64_t>(i * bits));
    words = words ? b_.CreateOr(words, row) : row;
  }
  return finish(words);
}

llvm::Value* TermsIr::words_of_steps(llvm::Value* elements) {
  if (kind_.terms == Terms::single) return convert(elements, word_);
  auto* vector = llvm::cast<llvm::FixedVectorType>(elements->getType());
  llvm::Value* converted = convert(elements, b_.getIntNTy(static_cast<unsigned>(32 / steps())));
  const unsigned words = vector->getNumElements() / static_cast<unsigned>(steps());
  return finish(b_.CreateBitCast(converted, words == 1 ? word_ : vector_of(word_)));
}

llvm::Value* TermsIr::add(llvm::Value* x, llvm::Value* y) {
  return sum_->isFloatingPointTy() ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y);
}

llvm::Value* TermsIr::add_products(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
  using namespace llvm::Intrinsic;
  switch (kind_.terms) {
    case Terms::single: break;
    case Terms::pairs_int16:
      if (host_isa().int8)
        return call(
            b_, by_width(x86_avx512_vpdpwssd_128, x86_avx512_vpdpwssd_256, x86_avx512_vpdpwssd_512),
            {sum, y, x});
      return b_.CreateAdd(
          sum, call(b_, by_width(x86_sse2_pmadd_wd, x86_avx2_pmadd_wd, x86_avx512_pmaddw_d_512),
                    {y, x}));
    case Terms::quads_int8:
      return call(
          b_, by_width(x86_avx512_vpdpbusd_128, x86_avx512_vpdpbusd_256, x86_avx512_vpdpbusd_512),
          {sum, y, x});
    case Terms::pairs_bfloat16:
      return call(b_,
                  by_width(x86_avx512bf16_dpbf16ps_128, x86_avx512bf16_dpbf16ps_256,
                           x86_avx512bf16_dpbf16ps_512),
                  {sum, y, x});
    default: throw InternalError("a matrix unit adds these terms");
  }
  if (!sum_->isFloatingPointTy()) return b_.CreateAdd(sum, b_.CreateMul(x, y));
  if (host_isa().fused)
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
  return b_.CreateFAdd(sum, b_.CreateFMul(x, y));
}

}  // namespace tessera::inline v0::codegen::matrix
