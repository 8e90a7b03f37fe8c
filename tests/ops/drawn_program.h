// Programs drawn from the whole space of every op, with their derivatives, batchings and nestings.
#pragma once

#include "ir/interpret.h"
#include "ir/op.h"
#include "ops/spaces.h"
#include "transform/autodiff.h"

#include <algorithm>
#include <stdexcept>

namespace walk {

inline const std::vector<const Op*>& drawn_ops() {
  static const auto& all = *[] {
    auto* ops = new std::vector<const Op*>;
    for (const auto& op : Registry::get().all())
      if (!not_drawn().count(op->name)) ops->push_back(op.get());
    return ops;
  }();
  return all;
}

/// Grows a program by one equation at a time over its values.
class Grower {
 public:
  Grower(Builder& b, Dice& dice, Values pool, int depth, bool may_take_inputs)
      : b_(b), dice_(dice), pool_(std::move(pool)), depth_(depth), inputs_(may_take_inputs) {}

  void step() {
    const Op& op = *dice_.of(drawn_ops());
    const bool nested = std::any_of(op.attrs.begin(), op.attrs.end(), [](const AttrSpec& a) {
      return a.kind == AttrKind::program || a.kind == AttrKind::programs;
    });
    if (nested && depth_ >= 2) return;
    Value x = latest(pool_);
    for (DType d : {x.dtype(), f32, i32, DType::boolean, u32, c64}) {
      Drawn e = draw_equation(op, dice_, Type(d, x.shape()));
      if (!e) continue;
      if (is_complex(x.dtype()) && !is_complex(d) && d != DType::boolean) x = ops::real(x);
      if (d != x.dtype()) x = ops::convert(x, d);
      Values operands;
      bool used = false;
      for (const Type& t : e->inputs) {
        bool fits = t.dtype == x.dtype() && t.shape == x.shape();
        operands.push_back(fits && !used ? x : operand(t, *e));
        used = used || fits;
      }
      for (Value v : b_.emit(op, operands, e->attrs)) pool_.push_back(v);
      return;
    }
  }
  /// A value of this type, which must exist.
  Value of_type(const Type& t) {
    Values fits = fitting(t);
    return latest(fits);
  }
  const Values& pool() const { return pool_; }

 private:
  // After the end of the tape, the last value.
  Value latest(const Values& all) {
    return all[all.size() - 1 -
               static_cast<std::size_t>(dice_.below(static_cast<std::int64_t>(all.size())))];
  }
  Values fitting(const Type& t) const {
    Values fits;
    for (Value v : pool_)
      if (v.dtype() == t.dtype && v.shape() == t.shape) fits.push_back(v);
    return fits;
  }
  Value operand(const Type& t, const OpExample&) {
    Values fits = fitting(t);
    if (!fits.empty() && !dice_.once_in(3)) return latest(fits);
    Type plain(t.dtype, t.shape);
    if (inputs_) {
      pool_.push_back(b_.input(plain));
      return pool_.back();
    }
    if (t.shape.count() <= 12) return ops::constant(b_, drawn_literal(dice_, t.dtype, t.shape));
    return ops::full(b_, t.dtype, t.shape, static_cast<double>(dice_.below(4)));
  }

  Builder& b_;
  Dice& dice_;
  Values pool_;
  int depth_;
  bool inputs_;
};

inline int& body_depth() {
  static thread_local int depth = 0;
  return depth;
}

inline ProgramPtr draw_body(Dice& dice, const std::vector<Type>& inputs,
                            const std::vector<Type>& results, bool more) {
  struct Deeper {
    Deeper() { ++body_depth(); }
    ~Deeper() { --body_depth(); }
  } deeper;
  Builder b("body");
  Values pool, out;
  for (const Type& t : inputs) pool.push_back(b.input(t));
  Grower g(b, dice, pool, body_depth(), false);
  for (std::int64_t n = dice.below(4); n > 0; --n) g.step();
  for (const Type& t : results) out.push_back(g.of_type(t));
  if (more) out.push_back(g.pool().back());
  return b.finish(out);
}

inline std::vector<bool> floating(const std::vector<Type>& types) {
  std::vector<bool> f;
  for (const Type& t : types) f.push_back(is_inexact(t.dtype));
  return f;
}
inline bool some(const std::vector<bool>& f) {
  return std::find(f.begin(), f.end(), true) != f.end();
}

/// Stacks inputs along any of their dimensions, or not; results are moved to any dimension.
inline ProgramPtr draw_batched(Dice& dice, const Program& p) {
  std::vector<int> dims;
  for (const Type& t : p.input_types())
    dims.push_back(static_cast<int>(dice.below(t.shape.rank() + 2)));
  bool any = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > p.type(p.inputs[i]).shape.rank()) dims[i] = kUnbatched;
    any = any || dims[i] != kUnbatched;
  }
  if (!any) return nullptr;
  const std::int64_t size = dice.of(Ints{2, 3, 1, 0});
  Builder b("batched");
  Values in, out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Type t = p.type(p.inputs[i]);
    if (dims[i] != kUnbatched) t.shape.insert(t.shape.begin() + dims[i], size);
    in.push_back(b.input(t));
  }
  BatchResult r = batch_inline(b, p, in, dims, size, "");
  for (std::size_t k = 0; k < r.outputs.size(); ++k) {
    Value v = r.outputs[k];
    if (r.dims[k] != kUnbatched) {
      Ints order;
      for (std::int64_t d = 0; d < v.rank(); ++d)
        if (d != r.dims[k]) order.push_back(d);
      order.insert(order.begin() + dice.below(v.rank()), r.dims[k]);
      v = ops::transpose(v, order);
    }
    out.push_back(v);
  }
  return b.finish(out);
}

/// One transformation of `p`; nothing if the drawn kind does not apply.
inline ProgramPtr draw_transformed(Dice& dice, const ProgramPtr& p) {
  const std::vector<Type> in = p->input_types(), out = p->output_types();
  try {
    switch (dice.below(4)) {
      case 0: return draw_batched(dice, *p);
      case 1: {
        if (!some(floating(in)) || !some(floating(out))) return nullptr;
        return vjp_program(*p, floating(in));
      }
      case 2: {
        if (!some(floating(in)) || !some(floating(out))) return nullptr;
        ProgramPtr q = jvp_program(*p, floating(in), floating(out)).program;
        require_forward_mode(*q);
        return q;
      }
      default: {
        // The body of a loop whose operands are the same in every iteration.
        Builder b("looped");
        Values operands;
        for (const Type& t : in) operands.push_back(b.input(t));
        Values none;
        return b.finish(ops::scan(p, operands, none, none, dice.below(3), dice.toss(), b));
      }
    }
  } catch (const TraceError&) {  // loops of unknown length have no reverse mode
    return nullptr;
  }
}

inline bool is_small(const Program& p) {
  for (const Type& t : p.types)
    if (t.shape.count() > 20 * kMostElements) return false;
  return p.equations.size() < 300;
}

/// A program of a few equations under up to two transformations, without equations that nothing
/// reads.
inline ProgramPtr draw_program(Dice& dice) {
  const std::int64_t transformations = dice.below(3);
  Builder b("drawn");
  Ints shape;
  for (std::int64_t r = dice.below(4); r > 0; --r) shape.push_back(dice.extent());
  Type first = typed(dice.of(all_dtypes()), shape);
  while (first.shape.count() > kMostElements / 4) first.shape.pop_back();
  Grower g(b, dice, {b.input(first)}, 0, true);
  for (std::int64_t n = 1 + dice.below(5); n > 0; --n) g.step();
  Values out{g.pool().back()};
  if (g.pool().size() > 2 && dice.toss())
    out.push_back(g.pool()[g.pool().size() - 2 - static_cast<std::size_t>(dice.below(2))]);
  ProgramPtr p = b.finish_pruned(out);
  for (std::int64_t k = 0; k < transformations; ++k) try {
      if (ProgramPtr q = draw_transformed(dice, p); q && is_small(*q)) p = q;
    } catch (const std::exception& e) {
      throw std::runtime_error(std::string(e.what()) + "\nin a transformation of\n" +
                               to_string(*p));
    }
  return p;
}

}  // namespace walk
