// A loop in IR that carries values. Private to the loops of matrix products.
#pragma once

#include "codegen/kernel/llvm_ir.h"

#include <vector>

namespace tessera::inline v0::codegen::matrix {

/// Writes a loop of `turns` iterations, possibly none, with loop-carried values that begin as
/// `starts`. `body` takes the values and returns those of the next iteration. Returns the final
/// values.
template <class Body>
std::vector<llvm::Value*> carrying_loop(IrBuilder& b, llvm::Value* turns,
                                        const std::vector<llvm::Value*>& starts, Body body) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* in = llvm::BasicBlock::Create(function->getContext(), "loop", function);
  auto* after = llvm::BasicBlock::Create(function->getContext(), "after", function);
  b.CreateCondBr(b.CreateICmpNE(turns, b.getInt64(0)), in, after);
  b.SetInsertPoint(in);
  auto* left = b.CreatePHI(b.getInt64Ty(), 2);
  left->addIncoming(turns, before);
  std::vector<llvm::PHINode*> carried;
  for (llvm::Value* v : starts) {
    carried.push_back(b.CreatePHI(v->getType(), 2));
    carried.back()->addIncoming(v, before);
  }
  const std::vector<llvm::Value*> ends =
      body(std::vector<llvm::Value*>(carried.begin(), carried.end()));
  auto* fewer = b.CreateSub(left, b.getInt64(1));
  llvm::BasicBlock* end = b.GetInsertBlock();
  left->addIncoming(fewer, end);
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(ends[i], end);
  b.CreateCondBr(b.CreateICmpNE(fewer, b.getInt64(0)), in, after);
  b.SetInsertPoint(after);
  std::vector<llvm::Value*> results;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    auto* v = b.CreatePHI(starts[i]->getType(), 2);
    v->addIncoming(starts[i], before);
    v->addIncoming(ends[i], end);
    results.push_back(v);
  }
  return results;
}

}  // namespace tessera::inline v0::codegen::matrix
