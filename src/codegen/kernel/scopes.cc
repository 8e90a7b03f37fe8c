// Scopes, loops and branches of the kernel emitter.
#include "codegen/kernel/scopes.h"

namespace tessera::inline v0::codegen {

Scope* KernelEmitter::new_scope(bool own_region) {
  Scope& s = scopes_.emplace_back();
  s.parent = current_;
  s.depth = current_ ? current_->depth + 1 : 0;
  if (current_) {
    s.mask = current_->mask;
    s.vec = current_->vec;
    s.width = current_->width;
  }
  s.region = own_region ? &regions_.emplace_back() : current_->region;
  return &s;
}

Scope* KernelEmitter::scope_of(std::span<const Index> at) const {
  Scope* target = root_;
  for (const Index& i : at)
    for_each_leaf(node_of(i), [&](const Atom& a) {
      auto* where = static_cast<Scope*>(const_cast<void*>(a.where));
      if (where && where->depth > target->depth) target = where;
    });
  for (Scope* s = current_; s; s = s->parent)
    if (s->barrier) return s->depth > target->depth ? s : target;
  return target;
}

KernelEmitter::Accumulators KernelEmitter::loop(llvm::Value* begin, llvm::Value* end,
                                                std::int64_t step, bool at_least_once,
                                                std::int64_t extent, int width,
                                                const Accumulators& init, const Body& body) {
  Scope* outer = current_;
  Scope* s = new_scope(true);
  if (width) s->width = width;
  auto* head = llvm::BasicBlock::Create(module_.getContext(), "loop", function_);
  auto* exit = llvm::BasicBlock::Create(module_.getContext(), "after", function_);
  outer->region->tail = b_->GetInsertBlock();
  current_ = s;
  b_->SetInsertPoint(head);
  auto* counter = b_->CreatePHI(b_->getInt64Ty(), 2);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value* v : init) phis.push_back(b_->CreatePHI(v->getType(), 2));
  // A variable with a single value would be folded to a constant, although this one may differ.
  Index variable = make_variable(std::max<std::int64_t>(2, extent), s);
  s->scalars[node_of(variable)] = counter;
  if (width) s->vec = single_atom(variable);

  Accumulators next = body(variable, Accumulators(phis.begin(), phis.end()));

  llvm::BasicBlock* latch = b_->GetInsertBlock();
  llvm::Value* incremented =
      b_->CreateAdd(counter, b_->getInt64(static_cast<std::uint64_t>(step)), "", true, true);
  b_->CreateCondBr(b_->CreateICmpULT(incremented, end), head, exit);
  llvm::BasicBlock* before = outer->region->tail;
  b_->SetInsertPoint(before);
  if (at_least_once)
    b_->CreateBr(head);
  else
    b_->CreateCondBr(b_->CreateICmpULT(begin, end), head, exit);
  counter->addIncoming(begin, before);
  counter->addIncoming(incremented, latch);
  b_->SetInsertPoint(exit);
  Accumulators result;
  for (std::size_t i = 0; i < phis.size(); ++i) {
    phis[i]->addIncoming(init[i], before);
    phis[i]->addIncoming(next[i], latch);
    if (at_least_once) {
      result.push_back(next[i]);
      continue;
    }
    auto* merged = b_->CreatePHI(phis[i]->getType(), 2);
    merged->addIncoming(init[i], before);
    merged->addIncoming(next[i], latch);
    result.push_back(merged);
  }
  current_ = outer;
  outer->region->tail = exit;
  return result;
}

KernelEmitter::Accumulators KernelEmitter::counted(std::int64_t extent, const Accumulators& init,
                                                   const Body& body) {
  if (extent == 1) return body(Index(0), init);
  return loop(b_->getInt64(0), b_->getInt64(static_cast<std::uint64_t>(extent)), 1, true, extent, 0,
              init, body);
}

KernelEmitter::Accumulators KernelEmitter::branch(llvm::Value* condition,
                                                  const Accumulators& otherwise,
                                                  const std::function<Accumulators()>& then) {
  Scope* outer = current_;
  Scope* s = new_scope(true);
  s->barrier = true;
  auto* inside = llvm::BasicBlock::Create(module_.getContext(), "inside", function_);
  auto* after = llvm::BasicBlock::Create(module_.getContext(), "after", function_);
  outer->region->tail = b_->GetInsertBlock();
  current_ = s;
  b_->SetInsertPoint(inside);
  Accumulators taken = then();
  llvm::BasicBlock* end = b_->GetInsertBlock();
  b_->CreateBr(after);
  llvm::BasicBlock* before = outer->region->tail;
  b_->SetInsertPoint(before);
  Accumulators skipped;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    skipped.push_back(ops_.splat(otherwise[i], width_of(taken[i])));
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (!width_of(skipped[i]) || width_of(taken[i])) continue;
    b_->SetInsertPoint(end->getTerminator());
    taken[i] = ops_.splat(taken[i], width_of(skipped[i]));
    b_->SetInsertPoint(before);
  }
  b_->CreateCondBr(condition, inside, after);
  b_->SetInsertPoint(after);
  Accumulators result;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    auto* phi = b_->CreatePHI(taken[i]->getType(), 2);
    phi->addIncoming(taken[i], end);
    phi->addIncoming(skipped[i], before);
    result.push_back(phi);
  }
  current_ = outer;
  outer->region->tail = after;
  return result;
}

// Loops over [span.begin, span.begin + span.length) in vectors of `width`, followed by a masked
// iteration for the remainder. A reduction, given by `box`, uses runs.
KernelEmitter::Accumulators KernelEmitter::lanes_loop(const Span& span, int width, const Box* box,
                                                      const Accumulators& init, const Body& body) {
  llvm::Value *main, *rest = nullptr;
  std::int64_t remaining = span.length % width, whole = span.length - remaining;
  if (span.dynamic) {
    main = b_->CreateAnd(span.dynamic, b_->getInt64(static_cast<std::uint64_t>(-width)));
    rest = b_->CreateSub(span.dynamic, main);
  } else {
    main = b_->getInt64(static_cast<std::uint64_t>(whole));
  }
  llvm::Value* begin = span.begin ? span.begin : b_->getInt64(0);
  if (span.begin) main = b_->CreateAdd(begin, main);
  Accumulators acc = init;
  if (span.dynamic || whole) {
    Turns t{begin, main, width, whole / width, span.extent, !span.dynamic, width};
    acc = box ? in_runs(*box, t, acc, body)
              : loop(begin, main, width, !span.dynamic, span.extent, width, acc, body);
  }
  auto tail = [&] {
    Scope* outer = current_;
    Scope* s = new_scope(false);
    current_ = s;
    s->width = width;
    Index variable = make_variable(std::max<std::int64_t>(2, span.extent), s);
    s->vec = single_atom(variable);
    s->scalars[node_of(variable)] = main;
    std::vector<llvm::Constant*> iota;
    for (int i = 0; i < width; ++i) iota.push_back(b_->getInt32(static_cast<std::uint32_t>(i)));
    llvm::Value* left = span.dynamic ? b_->CreateTrunc(rest, b_->getInt32Ty())
                                     : b_->getInt32(static_cast<std::uint32_t>(remaining));
    s->mask = b_->CreateICmpULT(llvm::ConstantVector::get(iota), ops_.splat(left, width));
    Accumulators r = body(variable, acc);
    current_ = outer;
    return r;
  };
  if (span.dynamic) {
    llvm::Value* some = b_->CreateICmpNE(rest, b_->getInt64(0));
    return branch(some, acc, tail);
  }
  return remaining ? tail() : acc;
}

// Emits `f` in a scope without a vectorised variable, for a computation that all lanes share.
Lane KernelEmitter::island(const std::function<Lane()>& f) {
  Scope* outer = current_;
  Scope* s = new_scope(false);
  s->barrier = true;
  s->mask = nullptr;
  s->vec = nullptr;
  s->width = 0;
  current_ = s;
  Lane x = f();
  current_ = outer;
  return x;
}

// Computes the value lane by lane, for a rule that is vectorised internally.
Lane KernelEmitter::per_lane(Var v, std::span<const Index> at) {
  const Atom* vec = current_->vec;
  int width = current_->width;
  llvm::Value* mask = current_->mask;
  DType d = program_.type(v).dtype;
  llvm::Value* start = vec ? scalar_atom(*vec) : nullptr;
  llvm::Value* none = llvm::Constant::getNullValue(ops_.type(d, width));
  Lane result = island([&] {
    Accumulators done = counted(width, {none}, [&](const Index& lane, const Accumulators& acc) {
      llvm::Value* l = scalar(lane);
      auto one = [&]() -> Accumulators {
        std::vector<Index> here(at.begin(), at.end());
        for (Index& i : here) {
          if (vec && depends_on(node_of(i), vec)) {
            Index base = make_datum(ops_.lane(start, DType::int64), vec->lo, vec->hi, current_);
            i = substitute(i, vec, base + lane);
          }
          std::vector<const Atom*> data;
          for_each_leaf(node_of(i), [&](const Atom& a) {
            if (a.kind == Atom::Kind::data && LaneOps::value(a.lane).width) data.push_back(&a);
          });
          for (const Atom* a : data) {
            Lane x =
                ops_.lane(b_->CreateExtractElement(LaneOps::value(a->lane).v, l), a->lane.dtype);
            i = substitute(i, a, make_datum(x, a->lo, a->hi, current_));
          }
        }
        return {ops_.inserted(acc[0], typed(value(v, here)), l)};
      };
      if (!mask) return one();
      return branch(b_->CreateExtractElement(mask, l), {acc[0]}, one);
    });
    return ops_.lane(done[0], d);
  });
  return result;
}

}  // namespace tessera::inline v0::codegen
