// The instructions of AMX. They are emitted with explicit register numbers, so LLVM neither
// allocates nor spills tiles and does not configure them.
#include "base/message.h"
#include "codegen/kernel/isa.h"
#include "codegen/matrix/unit_ops.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <string>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

namespace {

struct Dot {
  llvm::Intrinsic::ID id;
  const char* feature;  // LLVM's name
};

Dot dot_of(Terms terms) {
  switch (terms) {
    case Terms::unit_bfloat16: return {llvm::Intrinsic::x86_tdpbf16ps, "amx-bf16"};
    case Terms::unit_float16: return {llvm::Intrinsic::x86_tdpfp16ps, "amx-fp16"};
    case Terms::unit_int8: return {llvm::Intrinsic::x86_tdpbssd, "amx-int8"};
    case Terms::unit_uint8: return {llvm::Intrinsic::x86_tdpbuud, "amx-int8"};
    default: throw InternalError("AMX has no products of these terms");
  }
}

class AmxOps final : public UnitOps {
 public:
  AmxOps(IrBuilder& b, Terms terms) : b_(b), dot_(dot_of(terms).id) {
    // The host's features may lack those of AMX, for example in tests of this code.
    const std::string& host = host_isa().features;
    b.GetInsertBlock()->getParent()->addFnAttr(
        "target-features",
        host + (host.empty() ? "" : ",") + "+amx-tile,+" + dot_of(terms).feature);
  }

  void configure(llvm::Value* shapes) override { call(llvm::Intrinsic::x86_ldtilecfg, {shapes}); }
  void zero(int r) override { call(llvm::Intrinsic::x86_tilezero, {number(r)}); }
  void load(int r, llvm::Value* from, llvm::Value* row_bytes) override {
    call(llvm::Intrinsic::x86_tileloadd64, {number(r), from, row_bytes});
  }
  void store(int r, llvm::Value* to, llvm::Value* row_bytes) override {
    call(llvm::Intrinsic::x86_tilestored64, {number(r), to, row_bytes});
  }
  void dot(int c, int a, int b) override { call(dot_, {number(c), number(a), number(b)}); }
  void release() override { call(llvm::Intrinsic::x86_tilerelease, {}); }

 private:
  llvm::Value* number(int r) { return b_.getInt8(static_cast<std::uint8_t>(r)); }
  void call(llvm::Intrinsic::ID id, const std::vector<llvm::Value*>& operands) {
    b_.CreateIntrinsic(id, {}, operands);
  }

  IrBuilder& b_;
  const llvm::Intrinsic::ID dot_;
};

}  // namespace

std::unique_ptr<UnitOps> amx_ops(IrBuilder& b, Terms terms) {
  return std::make_unique<AmxOps>(b, terms);
}

}  // namespace tessera::inline v0::codegen::matrix
