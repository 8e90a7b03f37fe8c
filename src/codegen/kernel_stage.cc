// The loops of a stage.
#include "codegen/kernel_scopes.h"

#include "codegen/isa.h"

namespace tessera::inline v0::codegen {

void KernelEmitter::emit_stage(const StagePlan& stage, const std::string& name) {
  IndexArena arena;
  stage_ = &stage;
  scopes_.clear();
  regions_.clear();
  root_values_.clear();
  current_ = nullptr;
  llvm::LLVMContext& c = module_.getContext();
  llvm::Type *ptr = b_->getPtrTy(), *i64 = b_->getInt64Ty();
  auto* type = llvm::FunctionType::get(b_->getVoidTy(), {ptr, ptr, ptr, i64, i64, i64}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setDoesNotThrow();
  Scope& root = scopes_.emplace_back();
  root.region = &regions_.emplace_back();
  root.region->tail = llvm::BasicBlock::Create(c, "entry", function_);
  root_ = current_ = &root;
  b_->SetInsertPoint(root.region->tail);
  if (stage.units == 1 && !stage.any_length)
    emit_units(stage, Index(0));
  else
    loop(function_->getArg(3), function_->getArg(4), 1, true, stage.units, 0, {}, [&](const Index& unit, const Accumulators&) {
      emit_units(stage, unit);
      return Accumulators{};
    });
  b_->CreateRetVoid();
}

// A unit is a position in the outer loops and, where the innermost is cut, a block of it.
void KernelEmitter::emit_units(const StagePlan& s, const Index& unit) {
  std::vector<std::int64_t> digits(s.dims.begin(), s.dims.begin() + static_cast<std::ptrdiff_t>(s.unit_dims));
  Index block;
  if (s.block) digits.push_back((s.dims.back() + s.block - 1) / s.block);
  std::vector<Index> loops = unflatten(unit, digits);
  if (s.block) {
    block = loops.back();
    loops.pop_back();
  }
  emit_inner(s, std::move(loops), block);
}

void KernelEmitter::emit_inner(const StagePlan& s, std::vector<Index> loops, const Index& block) {
  if (loops.size() == s.dims.size()) return emit_element(s, loops);
  std::size_t dim = loops.size();
  auto body = [&](const Index& i, const Accumulators&) {
    std::vector<Index> deeper = loops;
    deeper.push_back(i);
    emit_inner(s, std::move(deeper), block);
    return Accumulators{};
  };
  if (dim + 1 < s.dims.size() || !s.width) {
    counted(s.dims[dim], {}, body);
    return;
  }
  std::int64_t extent = s.dims[dim];
  if (!s.block) {
    lanes_loop(extent, nullptr, s.width, {}, body);
    return;
  }
  Index start = block * s.block;
  llvm::Value* length = nullptr;
  if (s.any_length || extent % s.block) {
    llvm::Value* whole = s.any_length ? static_cast<llvm::Value*>(function_->getArg(5)) : b_->getInt64(static_cast<std::uint64_t>(extent));
    llvm::Value* left = b_->CreateSub(whole, scalar(start));
    length = b_->CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, b_->getInt64(static_cast<std::uint64_t>(s.block)));
  }
  lanes_loop(s.block, length, s.width, {}, [&](const Index& i, const Accumulators& a) { return body(start + i, a); });
}

void KernelEmitter::emit_element(const StagePlan& s, std::span<const Index> loops) {
  std::vector<Index> at;
  std::size_t first = 0;
  for (std::size_t d = 0; d < loops.size(); ++d) {
    auto n = static_cast<std::size_t>(s.groups[d]);
    std::span<const std::int64_t> extents(s.shape.data() + first, n);
    for (Index& i : unflatten(loops[d], extents)) at.push_back(std::move(i));
    first += n;
  }
  // All results first: an output may share the memory of an input that is read at this index.
  std::vector<Lane> results;
  for (int m : s.members) {
    auto i = static_cast<std::size_t>(m);
    if (s.kind == StagePlan::Kind::outputs) {
      results.push_back(value(program_.outputs[i], at));
    } else if (s.kind == StagePlan::Kind::totals) {
      results.push_back(value(plan_.splits[i].var, at));
    } else {
      Index which = at[0];
      chunk_ = &which;
      chunked_ = plan_.splits[i].eqn;
      std::span<const Index> rest(at.data() + 1, at.size() - 1);
      result_at_ = &rest;
      apply(plan_.splits[i].var, rest);
      chunked_ = nullptr;
      results.push_back(*chunk_result_);
    }
  }
  Index flat = flatten(at, s.shape);
  for (std::size_t k = 0; k < results.size(); ++k) {
    auto i = static_cast<std::size_t>(s.members[k]);
    llvm::Value* base = s.kind == StagePlan::Kind::outputs  ? output_pointer(i)
                        : s.kind == StagePlan::Kind::totals ? scratch_pointer(plan_.splits[i].total)
                                                            : scratch_pointer(plan_.splits[i].partials);
    store(base, flat, results[k]);
  }
}

}  // namespace tessera::inline v0::codegen
