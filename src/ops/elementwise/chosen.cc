#include "ops/elementwise/chosen.h"

#include "ir/op.h"
#include "ops/build.h"
#include "ops/elementwise/elementwise.h"

#include <algorithm>

namespace tessera::inline v0::ops {

namespace {

// More selects around a cotangent than this are merged into one, so that a long chain of them does
// not make the program's size quadratic.
constexpr std::size_t kDeep = 8;

// A select with value `of` where the condition is `taken`, and zero elsewhere.
struct Half {
  Value condition, of;
  bool taken;
};

std::optional<Half> half(Value v) {
  const Equation* e = v.builder->producer(v.var);
  if (!e || !e->op->selects) return std::nullopt;
  auto in = [&](std::size_t k) { return Value{v.builder, e->inputs[k]}; };
  if (is_zero(in(2))) return Half{in(0), in(1), true};
  if (is_zero(in(1))) return Half{in(0), in(2), false};
  return std::nullopt;
}

// Also matches a select that was then moved or broadcast: the move is applied to its parts instead.
std::optional<Half> moved_half(Value v) {
  if (std::optional<Half> h = half(v)) return h;
  const Equation* e = v.builder->producer(v.var);
  if (!e || e->op->barrier || !e->op->rearranges || e->inputs.size() != 1) return std::nullopt;
  const Op& op = *e->op;
  const Attrs attrs = e->attrs;
  std::optional<Half> h = moved_half(Value{v.builder, e->inputs[0]});
  if (!h) return std::nullopt;
  auto moved = [&](Value x) { return v.builder->emit(op, std::array{x}, attrs).at(0); };
  return Half{moved(h->condition), moved(h->of), h->taken};
}

Value live(const Half& h) { return h.taken ? h.condition : not_(h.condition); }

Value kept(Value condition, bool taken, Value v) {
  const Value zero = like(v, 0);
  return taken ? select(condition, v, zero) : select(condition, zero, v);
}

// Selects one of two cotangents, each of which may itself be zero in places.
Value either(Value condition, Value on_true, Value on_false) {
  const std::optional<Half> t = half(on_true), f = half(on_false);
  if (!t && !f) return select(condition, on_true, on_false);
  auto where = [&](const std::optional<Half>& h) { return h ? live(*h) : like(condition, 1); };
  return kept(select(condition, where(t), where(f)), true,
              either(condition, t ? t->of : on_true, f ? f->of : on_false));
}

Value sum(Value x, Value y) {
  if (MaybeValue v = add_selections(x, y)) return *v;
  return add(x, y);
}

}  // namespace

bool is_zero(Value v) {
  auto producer = [&](Var x) { return v.builder->producer(x); };
  const Equation* e = producer(v.var);
  while (e && !e->op->barrier && (e->op->rearranges || e->op->forwards)) e = producer(e->inputs[0]);
  if (!e || !e->op->literal) return false;
  const auto& bytes = *e->op->literal(e->attrs)->bytes;
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

Unselected::Unselected(Value cotangent) : whole_(cotangent), raw_(cotangent) {
  while (const std::optional<Half> h = moved_half(raw_)) {
    selections_.push_back({h->condition, h->taken});
    raw_ = h->of;
  }
  if (selections_.size() <= kDeep) return;
  Value all = live({selections_[0].condition, raw_, selections_[0].taken});
  for (std::size_t i = 1; i < selections_.size(); ++i)
    all = and_(all, live({selections_[i].condition, raw_, selections_[i].taken}));
  selections_ = {{all, true}};
}

Value Unselected::selected(Value cotangent) const {
  if (cotangent == raw_) return whole_;
  for (auto s = selections_.rbegin(); s != selections_.rend(); ++s)
    cotangent = kept(s->condition, s->taken, cotangent);
  return cotangent;
}

MaybeValue add_selections(Value x, Value y) {
  const std::optional<Half> a = half(x), b = half(y);
  if (!a || !b) return std::nullopt;
  if (a->condition != b->condition) return kept(or_(live(*a), live(*b)), true, add(x, y));
  if (a->taken == b->taken) return kept(a->condition, a->taken, sum(a->of, b->of));
  return a->taken ? either(a->condition, a->of, b->of) : either(a->condition, b->of, a->of);
}

}  // namespace tessera::inline v0::ops
