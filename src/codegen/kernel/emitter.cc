// Values and operations of the kernel emitter.
#include "codegen/kernel/scopes.h"

namespace tessera::inline v0::codegen {

namespace {
constexpr int kSelect = 1000, kConvert = 2000, kBitcast = 3000;
}

KernelEmitter::KernelEmitter(const Program& p, const KernelSchedule& plan, llvm::Module& module)
    : Composer(p),
      plan_(plan),
      module_(module),
      b_(std::make_unique<IrBuilder>(module.getContext())),
      ops_(module, *b_) {}
KernelEmitter::~KernelEmitter() = default;

// Emits an operation on the same values once wherever the first result is visible.
template <class F>
Lane KernelEmitter::once(int code, const void* a, const void* b, const void* c, F&& make) {
  auto key = std::make_tuple(code, a, b, c);
  for (Scope* s = current_; s; s = s->parent)
    if (auto it = s->operations.find(key); it != s->operations.end()) return it->second;
  return current_->operations[key] = make();
}

Lane KernelEmitter::unary(Arith op, Lane x) {
  return once(static_cast<int>(op), x.handle, nullptr, nullptr, [&] { return ops_.unary(op, x); });
}
Lane KernelEmitter::binary(Arith op, Lane x, Lane y) {
  return once(static_cast<int>(op), x.handle, y.handle, nullptr,
              [&] { return ops_.binary(op, x, y); });
}
Lane KernelEmitter::select(Lane c, Lane x, Lane y) {
  return once(kSelect, c.handle, x.handle, y.handle, [&] { return ops_.select(c, x, y); });
}
Lane KernelEmitter::convert(Lane x, DType to) {
  return once(kConvert + static_cast<int>(to), x.handle, nullptr, nullptr,
              [&] { return ops_.convert(x, to); });
}
Lane KernelEmitter::bitcast(Lane x, DType to) {
  return once(kBitcast + static_cast<int>(to), x.handle, nullptr, nullptr,
              [&] { return ops_.bitcast(x, to); });
}

Lane KernelEmitter::value(Var v, std::span<const Index> at) {
  ValueKey key = key_of(v, at);
  for (Scope* s = current_; s; s = s->parent)
    if (auto it = s->values.find(key); it != s->values.end()) return it->second;
  Scope* home = scope_of(at);
  Lane x = in_scope(home, [&]() -> Lane {
    if (std::optional<Lane> loaded = from_buffer(v, at)) return *loaded;
    if (std::optional<Lane> kept = from_row(v, at)) return *kept;
    auto rule = [&] {
      const std::span<const Index>* outer = result_at_;
      result_at_ = &at;
      Lane r = apply(v, at);
      result_at_ = outer;
      return r;
    };
    bool combined = stage_->reduced.contains(v);
    if (!current_->vec || combined || !reduces_minor(program_, *producer(v))) return rule();
    bool differs = false;
    for (const Index& i : at) differs |= varying(i);
    return differs ? per_lane(v, at) : island(rule);
  });
  home->values.emplace(std::move(key), x);
  return x;
}

Lane KernelEmitter::guarded(std::span<const Bound> bounds, const std::function<Lane()>& inside,
                            Lane outside) {
  llvm::Value *uniform = nullptr, *lanewise = nullptr;
  for (const Bound& bound : bounds) {
    const Index::Node* n = node_of(bound.index);
    if (n->hi < bound.lo || n->lo >= bound.hi || bound.lo >= bound.hi) return outside;
    if (n->lo >= bound.lo && n->hi < bound.hi) continue;
    // A single unsigned comparison of the distance from the lower bound.
    Index distance = bound.index - Index(bound.lo);
    auto extent = static_cast<std::uint64_t>(bound.hi - bound.lo);
    if (varying(bound.index)) {
      bool narrow = fits_narrow(node_of(distance)) && bound.hi - bound.lo <= 0x7fffffff;
      llvm::Value* d = lanes(distance, narrow);
      llvm::Value* in = b_->CreateICmpULT(d, llvm::ConstantInt::get(d->getType(), extent));
      lanewise = lanewise ? b_->CreateAnd(lanewise, in) : in;
    } else {
      llvm::Value* in = b_->CreateICmpULT(scalar(distance), b_->getInt64(extent));
      uniform = uniform ? b_->CreateAnd(uniform, in) : in;
    }
  }
  if (!uniform && !lanewise) return inside();
  auto masked = [&] {
    if (!lanewise) return inside();
    Scope* outer = current_;
    Scope* s = new_scope(false);
    s->barrier = true;
    s->mask = outer->mask ? b_->CreateAnd(outer->mask, lanewise) : lanewise;
    current_ = s;
    Lane x = inside();
    current_ = outer;
    return ops_.select(ops_.lane(lanewise, DType::boolean), x, outside);
  };
  if (!uniform) return masked();
  DType d = outside.dtype;
  return ops_.lane(branch(uniform, {LaneOps::value(outside).v},
                          [&]() -> Accumulators { return {LaneOps::value(masked()).v}; })[0],
                   d);
}

}  // namespace tessera::inline v0::codegen
