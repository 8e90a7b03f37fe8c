// The LLVM headers of the kernel compiler. They are expensive to compile, so only the few source
// files that write IR include this header, directly or through private headers.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#pragma GCC diagnostic pop

namespace tessera::inline v0::codegen {

struct IrBuilder : llvm::IRBuilder<> {
  using llvm::IRBuilder<>::IRBuilder;
};

/// The number of lanes of a vector, or of the parts of a complex number; 0 for a scalar.
inline int width_of(const llvm::Value* v) {
  llvm::Type* type = v->getType();
  if (type->isStructTy()) type = type->getStructElementType(0);
  auto* t = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return t ? static_cast<int>(t->getNumElements()) : 0;
}

}  // namespace tessera::inline v0::codegen
