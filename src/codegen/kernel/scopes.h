// Shared by the source files of the kernel emitter, and private to them.
#pragma once

#include "codegen/kernel/emitter.h"
#include "codegen/kernel/llvm_ir.h"

#include <limits>

namespace tessera::inline v0::codegen {

inline constexpr std::int64_t kNarrowMax = std::numeric_limits<std::int32_t>::max();

/// Appends code to an outer scope while inner scopes are open.
template <class F>
auto KernelEmitter::in_scope(Scope* scope, F&& f) {
  Scope* saved = current_;
  saved->region->tail = b_->GetInsertBlock();
  current_ = scope;
  b_->SetInsertPoint(scope->region->tail);
  auto result = f();
  scope->region->tail = b_->GetInsertBlock();
  current_ = saved;
  b_->SetInsertPoint(saved->region->tail);
  return result;
}

}  // namespace tessera::inline v0::codegen
