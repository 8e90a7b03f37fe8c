// In-place updates: the function that writes the elements of an update into the memory of an
// operand.
#include "codegen/kernel/scopes.h"

namespace tessera::inline v0::codegen {

namespace {

// The same bits as those of the op's evaluator (ops/combine.h).
Lane combined(Emitter& e, Combiner how, const Lane& old, const Lane& next) {
  const bool truth = next.dtype == DType::boolean;
  switch (how) {
    case Combiner::add: return e.binary(truth ? Arith::or_ : Arith::add, old, next);
    case Combiner::mul: return e.binary(truth ? Arith::and_ : Arith::mul, old, next);
    case Combiner::min: return e.binary(truth ? Arith::and_ : Arith::min, old, next);
    case Combiner::max: return e.binary(truth ? Arith::or_ : Arith::max, old, next);
    case Combiner::and_: return e.binary(Arith::and_, old, next);
    case Combiner::or_: return e.binary(Arith::or_, old, next);
    case Combiner::replace: break;
  }
  return next;
}

}  // namespace

void KernelEmitter::emit_update(const std::string& name) {
  IndexArena arena;
  const StageSchedule whole;
  stage_ = &whole;
  past_caches_ = false;
  begin_function(name);
  const Equation& eqn = program_.equations.front();
  eqn_ = &eqn;
  result_ = 0;
  std::vector<Index> at;
  // The loops run at least once.
  if (operand_type(eqn.op->written).shape.count() > 0) emit_writes(eqn, at);
  b_->CreateRetVoid();
  stage_ = nullptr;
}

// The loops from dimension at.size() of the update inwards.
void KernelEmitter::emit_writes(const Equation& eqn, std::vector<Index>& at) {
  const Shape& update = operand_type(eqn.op->written).shape;
  if (at.size() < update.size()) {
    counted(update[at.size()], {}, [&](const Index& i, const Accumulators&) {
      at.push_back(i);
      emit_writes(eqn, at);
      at.pop_back();
      return Accumulators{};
    });
    return;
  }
  const Write w = eqn.op->write(*this, eqn, at);
  const auto put = [&] {
    llvm::Value* base = output_pointer(0);
    const Index flat = flatten(w.at, result_type().shape);
    Lane value = w.value;
    if (eqn.op->combiner != Combiner::replace)
      value = combined(*this, eqn.op->combiner, load(base, value.dtype, flat), value);
    store(base, flat, value);
    return Accumulators{};
  };
  if (w.inside.handle)
    branch(LaneOps::value(w.inside).v, {}, put);
  else
    put();
}

}  // namespace tessera::inline v0::codegen
