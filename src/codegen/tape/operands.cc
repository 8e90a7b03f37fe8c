#include "codegen/tape/operands.h"

#include "codegen/calls/views.h"
#include "codegen/kernel/kernel.h"
#include "transform/pass.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera::inline v0::tape {

namespace {

using Chain = std::vector<std::size_t>;  // equations, from an operand back to its source

// The chain as a separate program.
Program program_of(const Program& p, const Chain& chain) {
  Program q;
  q.types.push_back(p.type(p.equations[chain.back()].inputs[0]));
  q.inputs = {0};
  for (std::size_t i = chain.size(); i-- > 0;) {
    Equation e = p.equations[chain[i]];
    e.inputs = {static_cast<Var>(q.types.size() - 1)};
    q.types.push_back(p.type(e.outputs[0]));
    e.outputs = {static_cast<Var>(q.types.size() - 1)};
    q.equations.push_back(std::move(e));
  }
  q.outputs = {static_cast<Var>(q.types.size() - 1)};
  return q;
}

codegen::OperandView stored(const Type& t) {
  codegen::OperandView view;
  view.dtype = t.dtype;
  const Shape strides = t.shape.strides();
  for (int d = 0; d < t.shape.rank(); ++d) view.dims.push_back({{t.shape[d], strides[d]}});
  return view;
}

std::vector<int> producers_of(const Program& p) {
  std::vector<int> producer(p.types.size(), -1);
  for (std::size_t k = 0; k < p.equations.size(); ++k)
    for (Var v : p.equations[k].outputs) producer[v] = static_cast<int>(k);
  return producer;
}

// The chain of equations that computes operand `v` from a single value, as long as `fits` accepts
// them.
template <class Fits>
Chain chain_to(const Program& p, const std::vector<int>& producer, Var v, Fits fits) {
  Chain chain;
  while (producer[v] >= 0) {
    const auto k = static_cast<std::size_t>(producer[v]);
    const Equation& e = p.equations[k];
    if (e.inputs.size() != 1 || e.outputs.size() != 1 || !fits(e)) break;
    chain.push_back(k);
    v = e.inputs[0];
  }
  return chain;
}

// The routine for the last equation of a body whose other equations compute its operands.
std::shared_ptr<const Routine> call_through_views(const CallArgs& a) {
  const Program& body = *a.attrs.get<ProgramPtr>("body");
  const Equation& last = body.equations.back();
  const std::vector<int> producer = producers_of(body);
  std::vector<Type> inputs;
  std::vector<codegen::OperandView> views;
  for (Var v : last.inputs) {
    inputs.push_back(body.type(v));
    const Chain chain = chain_to(body, producer, v, [](const Equation&) { return true; });
    views.push_back(chain.empty() ? stored(body.type(v))
                                  : *codegen::view_of(program_of(body, chain)));
  }
  return codegen::view_rules(*last.op)->call({*last.op, last.attrs, inputs, a.outputs}, views);
}

// A body that consists of an equation of an op that accepts views and the equations that compute
// its operands.
const Op& through_views_op() {
  static const Op* op = [] {
    Op made;
    made.name = "through_views";
    made.attrs = {{"body", AttrKind::program, "the equation, and before it those of its operands"}};
    made.lowering = Lowering::called;
    made.cheap = false;
    made.fuse = fuses_as(FuseRole::apart);
    made.call = call_through_views;
    made.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
      const Program& body = *attrs.get<ProgramPtr>("body");
      const Equation& last = body.equations.back();
      std::vector<Type> inputs;
      for (Var v : last.inputs) inputs.push_back(body.type(v));
      Cost cost = last.op->cost(inputs, out, last.attrs);
      cost.bytes = 0;
      for (const auto& types : {in, out})
        for (const Type& t : types) cost.bytes += static_cast<double>(t.bytes());
      return cost;
    };
    return new Op(std::move(made));
  }();
  return *op;
}

class ViewReader {
 public:
  explicit ViewReader(Level& level) : level_(level), p_(*level.flat), producer_(producers_of(p_)) {}

  void run() {
    for (std::size_t k = 0; k < p_.equations.size(); ++k) {
      const Equation& e = p_.equations[k];
      const codegen::ViewRules* rules = codegen::view_rules(*e.op);
      if (!rules || e.outputs.size() != 1) continue;
      std::vector<Type> inputs;
      std::vector<codegen::OperandView> views;
      for (Var v : e.inputs) {
        inputs.push_back(p_.type(v));
        views.push_back(stored(inputs.back()));
      }
      const Type outputs[] = {p_.type(e.outputs[0])};
      std::vector<Chain> chains(e.inputs.size());
      bool any = false;
      for (std::size_t i = e.inputs.size(); i-- > 0;) {
        for (auto& [chain, view] : candidates(e.inputs[i])) {
          const codegen::OperandView before = std::exchange(views[i], std::move(view));
          if (rules->takes({*e.op, e.attrs, inputs, outputs}, views)) {
            chains[i] = std::move(chain);
            any = true;
            break;
          }
          views[i] = before;
        }
      }
      if (any) replace(k, chains);
    }
    remove_unread();
  }

 private:
  // Whether the value is in memory anyway.
  bool is_stored(Var v) const {
    return producer_[v] < 0 ||
           !codegen::is_emitted(p_.equations[static_cast<std::size_t>(producer_[v])]);
  }
  // The views through which operand `v` may be read, from the farthest source on.
  std::vector<std::pair<Chain, codegen::OperandView>> candidates(Var v) const {
    std::vector<std::pair<Chain, codegen::OperandView>> found;
    const Chain whole = chain_to(p_, producer_, v, [](const Equation& e) {
      return codegen::is_emitted(e) && !e.op->barrier && !e.op->literal;
    });
    bool moves = false;  // whether the chain would need a separate pass over memory
    for (std::size_t n = 1; n <= whole.size(); ++n) {
      const Equation& first = p_.equations[whole[n - 1]];
      moves = moves || !(first.op->forwards || first.op->lowering == Lowering::view);
      Chain chain(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      const std::optional<codegen::OperandView> view = codegen::view_of(program_of(p_, chain));
      if (!view) break;
      // A source that a kernel computes is stored only for this product. The kernel can convert it,
      // and leave out unread elements, at no cost.
      const Type &source = p_.type(first.inputs[0]), &operand = p_.type(v);
      if (moves && (is_stored(first.inputs[0]) ||
                    (source.dtype == operand.dtype && source.bytes() <= operand.bytes())))
        found.emplace_back(std::move(chain), *view);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  void replace(std::size_t k, const std::vector<Chain>& chains) {
    Equation& e = p_.equations[k];
    auto body = std::make_shared<Program>();
    body->name = e.op->name;
    const auto declare = [&](Var v) {
      body->types.push_back(p_.type(v));
      return static_cast<Var>(body->types.size() - 1);
    };
    Equation last = e;
    std::vector<Var> sources;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const Chain& chain = chains[i];
      sources.push_back(chain.empty() ? e.inputs[i] : p_.equations[chain.back()].inputs[0]);
      Var v = declare(sources.back());
      body->inputs.push_back(v);
      for (std::size_t n = chain.size(); n-- > 0;) {
        Equation made = p_.equations[chain[n]];
        made.inputs = {v};
        v = declare(made.outputs[0]);
        made.outputs = {v};
        body->equations.push_back(std::move(made));
        passed_.push_back(chain[n]);
      }
      last.inputs[i] = v;
    }
    last.outputs = {declare(e.outputs[0])};
    body->outputs = last.outputs;
    body->equations.push_back(std::move(last));
    e.op = &through_views_op();
    e.inputs = std::move(sources);
    e.attrs = Attrs{{"body", ProgramPtr(std::move(body))}};
  }

  void remove_unread() {
    if (passed_.empty()) return;
    std::vector<int> reads(p_.types.size());
    for (Var v : p_.outputs) ++reads[v];
    for (const Equation& e : p_.equations)
      for (Var v : e.inputs) ++reads[v];
    std::sort(passed_.begin(), passed_.end());
    passed_.erase(std::unique(passed_.begin(), passed_.end()), passed_.end());
    std::vector<bool> gone(p_.equations.size());
    for (std::size_t i = passed_.size(); i-- > 0;) {
      const Equation& e = p_.equations[passed_[i]];
      if (reads[e.outputs[0]]) continue;
      gone[passed_[i]] = true;
      --reads[e.inputs[0]];
    }
    std::size_t kept = 0;
    for (std::size_t k = 0; k < gone.size(); ++k) {
      if (gone[k]) continue;
      if (kept != k) p_.equations[kept] = std::move(p_.equations[k]);
      level_.scope[kept] = level_.scope[k];
      level_.works_for[kept] = level_.works_for[k];
      level_.hold[kept] = level_.hold[k];
      ++kept;
    }
    p_.equations.resize(kept);
    level_.scope.resize(kept);
    level_.works_for.resize(kept);
    level_.hold.resize(kept);
  }

  Level& level_;
  Program& p_;
  std::vector<int> producer_;
  Chain passed_;  // equations that bodies contain
};

}  // namespace

void read_through_views(Level& level) {
  PassRun run("operands", *level.flat);
  if (run.off()) return;
  ViewReader(level).run();
  run.gave([&] { return to_string(*level.flat); });
}

std::string shown_name(const Equation& eqn) {
  if (eqn.op != &through_views_op()) return eqn.op->shown();
  std::string name;
  for (const Equation& e : eqn.attrs.get<ProgramPtr>("body")->equations)
    name += (name.empty() ? "" : "+") + e.op->shown();
  return name;
}

}  // namespace tessera::inline v0::tape
