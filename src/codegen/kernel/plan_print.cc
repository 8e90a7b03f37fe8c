#include "codegen/kernel/plan_print.h"

#include "codegen/kernel/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

namespace tessera::inline v0::codegen {

namespace {

/// A loop, and what is done in a turn of it: lines, loops of reductions, and at the end the next
/// loop of the stage.
struct Block {
  struct Item {
    std::string line;
    std::unique_ptr<Block> loop;
  };
  std::string head;
  int depth = 0;
  std::vector<Item> items;
  std::unique_ptr<Block> next;

  void print(std::string& out) const {
    if (!head.empty()) out += std::string(2 * static_cast<std::size_t>(depth), ' ') + head + "\n";
    for (const Item& i : items) {
      if (i.loop)
        i.loop->print(out);
      else
        out += std::string(2 * static_cast<std::size_t>(depth + 1), ' ') + i.line + "\n";
    }
    if (next) next->print(out);
  }
};

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : between) + w;
  return out;
}

/// A dry run of one stage's rules that notes where each value is computed.
class Notes final : public Tracer {
 public:
  Notes(const Program& p, const KernelPlan& plan, const StagePlan& s,
        const std::unordered_set<Var>& buffers)
      : Tracer(p, buffers), plan_(plan), s_(s), buffers_(buffers) {}

  std::string text() {
    std::vector<Index> at = make_loops();
    const bool outputs = s_.kind == StagePlan::Kind::outputs;
    auto row = std::span(at).first(s_.row_dims);
    for (int m : s_.row_members) {
      const Var v = program_.outputs[static_cast<std::size_t>(m)];
      const std::vector<Index> here =
          row_index(row, std::span(s_.shape.data(), s_.row_dims), program_.type(v).shape);
      value(v, here);
      line(home_of(here), "store " + named(v, here));
    }
    for (Var v : s_.cached) line(home_of(row), fmt::format("keep %{} for the row", v));
    std::vector<Var> vars;
    for (int m : s_.members)
      vars.push_back(outputs ? program_.outputs[static_cast<std::size_t>(m)]
                             : plan_.splits[static_cast<std::size_t>(m)].var);
    const bool chunks = s_.kind == StagePlan::Kind::partials;
    auto inside = std::span(at).subspan(chunks ? 1 : 0);
    for (Var v : vars) value(v, inside);
    for (Var v : vars)
      line(innermost_, outputs  ? "store " + named(v, inside)
                       : chunks ? "store chunk c of " + named(v, inside) + " to scratch"
                                : "store " + named(v, inside) + " to scratch");
    std::string out;
    root_.print(out);
    return out;
  }

  Lane value(Var v, std::span<const Index> at) override {
    if (!rules_.empty() && std::count(rules_.back().operands.begin(), rules_.back().operands.end(),
                                      named(v, at)) == 0)
      rules_.back().operands.push_back(named(v, at));
    if (asked(v, at)) return Tracer::value(v, at);
    Block* home = home_of(at);
    const Equation* eqn = producer(v);
    if (!eqn || buffers_.contains(v)) {
      line(home, "load " + named(v, at) + source_of(v));
      return Tracer::value(v, at);
    }
    rules_.push_back({home, {}});
    Lane x = Tracer::value(v, at);
    const std::vector<std::string> operands = std::move(rules_.back().operands);
    rules_.pop_back();
    line(home, named(v, at) + " = " + eqn->op->name +
                   (operands.empty() ? "" : "(" + joined(operands, ", ") + ")"));
    return x;
  }

  Index index(const Lane& number, std::int64_t lo, std::int64_t hi) override {
    Index i = Tracer::index(number, lo, hi);
    if (const Atom* a = single_atom(i))
      name(a, "x" + std::to_string(data_++), rules_.empty() ? &root_ : rules_.back().home);
    return i;
  }

  Lane reduce(std::span<const std::int64_t> extents, Lane init,
              const std::function<Lane(std::span<const Index>)>& element,
              const std::function<Lane(Lane, Lane)>& combine) override {
    auto loop = std::make_unique<Block>();
    Lane x = Tracer::reduce(
        extents, init,
        [&](std::span<const Index> at) {
          begin(*loop, extents, at, form(*eqn_, extents));
          return element(at);
        },
        combine);
    end(std::move(loop));
    return x;
  }
  std::vector<Lane> fold(
      std::span<const std::int64_t> extents, std::vector<Lane> init,
      const std::function<std::vector<Lane>(std::span<const Index>, std::span<const Lane>)>& step)
      override {
    auto loop = std::make_unique<Block>();
    std::vector<Lane> x = Tracer::fold(
        extents, std::move(init), [&](std::span<const Index> at, std::span<const Lane> best) {
          begin(*loop, extents, at, "");
          return step(at, best);
        });
    end(std::move(loop));
    return x;
  }

 private:
  struct Rule {
    Block* home;
    std::vector<std::string> operands;
  };

  void name(const Atom* a, std::string text, Block* home) {
    names_[a] = std::move(text);
    homes_[a] = home;
  }
  static void line(Block* b, std::string text) { b->items.push_back({std::move(text), nullptr}); }

  std::vector<Index> make_loops() {
    std::vector<Index> at;
    const bool chunks = s_.kind == StagePlan::Kind::partials;
    Block* outer = &root_;
    root_.depth = -1;
    std::size_t d = 0;
    for (std::size_t k = 0; k < s_.dims.size(); ++k) {
      outer->next = std::make_unique<Block>();
      Block* b = outer->next.get();
      b->depth = outer->depth + 1;
      std::vector<std::string> names, extents;
      for (int g = 0; g < s_.groups[k]; ++g, ++d) {
        const bool chunk = chunks && d == 0;
        at.push_back(make_variable(chunk ? std::max<std::int64_t>(2, s_.shape[0]) : s_.shape[d]));
        const Atom* a = single_atom(at.back());
        if (!a) continue;
        names.push_back(chunk ? "c" : "d" + std::to_string(d - (chunks ? 1 : 0)));
        extents.push_back(s_.any_length ? "n" : std::to_string(s_.shape[d]));
        name(a, names.back(), b);
      }
      b->head = head(k, names, extents);
      outer = b;
    }
    innermost_ = outer;
    return at;
  }

  std::string head(std::size_t k, const std::vector<std::string>& names,
                   const std::vector<std::string>& extents) const {
    const bool last = k + 1 == s_.dims.size();
    std::string text = k < s_.unit_dims ? "parallel for " : "for ";
    if (names.empty())
      text += "one turn";
    else if (names.size() == 1)
      text += names[0] + " < " + extents[0];
    else
      text += "(" + joined(names, ", ") + ") in " + joined(extents, " x ");
    if (static_cast<int>(k) == s_.tile)
      text += fmt::format(", pieces of {} that go innermost{}", s_.tile_length,
                          s_.tile_unrolled ? ", transposed in registers" : "");
    if (last && s_.block) text += fmt::format(", in parallel blocks of {}", s_.block);
    if (last && s_.width) text += fmt::format(", {} lanes", s_.width);
    return text;
  }

  Block* here() { return rules_.empty() ? innermost_ : rules_.back().home; }

  // A loop of the rule that is running, with these variables.
  void begin(Block& loop, std::span<const std::int64_t> extents, std::span<const Index> at,
             const std::string& form) {
    loop.depth = here()->depth + 1;
    std::vector<std::string> names, counts;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const Atom* a = single_atom(at[i]);
      if (!a) continue;
      names.push_back("r" + std::to_string(reduced_++));
      counts.push_back(std::to_string(extents[i]));
      name(a, names.back(), &loop);
    }
    loop.head = names.empty()       ? "once"
                : names.size() == 1 ? "for " + names[0] + " < " + counts[0]
                                    : "for (" + joined(names, ", ") + ") in " +
                                          joined(counts, " x ");
    loop.head += ", " + eqn_->op->name + form;
  }
  // What is outside of it stands in front of it.
  void end(std::unique_ptr<Block> loop) {
    if (!loop->head.empty()) here()->items.push_back({{}, std::move(loop)});
  }

  // How a reduction associates.
  std::string form(const Equation& eqn, std::span<const std::int64_t> extents) const {
    const ReduceShape r = reduce_shape(program_, eqn, extents);
    std::string text;
    if (r.lanes)
      text += fmt::format(" by {} lanes",
                          reduce_lanes(eqn, program_.type(eqn.outputs[0]).dtype, r.extents.back()));
    if (!r.extents.empty() && r.chunks() > 1) text += fmt::format(" in {} chunks", r.chunks());
    if (const int halved = r.outer + r.inner) text += fmt::format(", halved {} times", halved);
    return text;
  }

  std::string source_of(Var v) const {
    if (!producer(v)) return "";
    for (const SplitReduction& split : plan_.splits)
      if (split.var == v && s_.reduced.contains(v))
        return split.combined ? " from scratch"
                              : fmt::format(" from {} chunks in scratch", split.shape.chunks());
    return " from the result";
  }

  /// The innermost of the loops that `at` knows.
  Block* home_of(std::span<const Index> at) {
    Block* home = &root_;
    for (const Index& i : at)
      for_each_leaf(node_of(i), [&](const Atom& a) {
        if (auto it = homes_.find(&a); it != homes_.end() && it->second->depth > home->depth)
          home = it->second;
      });
    return home;
  }

  std::string text_of(const Index::Node* n) const {
    std::vector<std::string> terms;
    for (const auto& [atom, c] : n->terms)
      terms.push_back((c == 1 ? "" : std::to_string(c) + "*") + text_of(*atom));
    if (n->constant || terms.empty()) terms.push_back(std::to_string(n->constant));
    return joined(terms, " + ");
  }
  std::string text_of(const Atom& a) const {
    if (a.inner)
      return fmt::format("({}){}{}", text_of(a.inner), a.kind == Atom::Kind::quotient ? "/" : "%",
                         a.divisor);
    auto it = names_.find(&a);
    return it == names_.end() ? "?" : it->second;
  }
  std::string named(Var v, std::span<const Index> at) const {
    std::vector<std::string> places;
    for (const Index& i : at) places.push_back(text_of(node_of(i)));
    return fmt::format("%{}{}", v, at.empty() ? "" : "[" + joined(places, ", ") + "]");
  }

  const KernelPlan& plan_;
  const StagePlan& s_;
  const std::unordered_set<Var>& buffers_;
  Block root_;
  Block* innermost_ = nullptr;
  std::map<const Atom*, std::string> names_;
  std::map<const Atom*, Block*> homes_;
  std::vector<Rule> rules_;  // that are running
  int data_ = 0, reduced_ = 0;
};

std::string values_text(const Program& p, const std::vector<Var>& vars, bool any_length) {
  std::vector<std::string> all;
  for (Var v : vars) {
    const Type& t = p.type(v);
    const bool full = any_length && t.shape.rank() == 1;
    all.push_back(fmt::format(
        "%{}: {}", v, full ? std::string(name_of(t.dtype)) + "[n]" : tessera::to_string(t)));
  }
  return joined(all, ", ");
}

}  // namespace

std::string to_string(const Program& p, const KernelPlan& plan) {
  const bool any_length = !plan.stages.empty() && plan.stages[0].any_length;
  std::string out = "inputs " + values_text(p, p.inputs, any_length) + "\n";
  out += "outputs " + values_text(p, p.outputs, any_length) + "\n";
  if (plan.scratch_bytes) out += fmt::format("scratch {} bytes\n", plan.scratch_bytes);
  for (auto [in, result] : plan.in_place)
    out += fmt::format("output {} may lie in the memory of input {}\n", result, in);
  for (std::size_t k = 0; k < plan.stages.size(); ++k) {
    const StagePlan& s = plan.stages[k];
    std::unordered_set<Var> buffers = s.stored;
    buffers.insert(s.reduced.begin(), s.reduced.end());
    if (s.kind == StagePlan::Kind::totals)
      for (int m : s.members) buffers.erase(plan.splits[static_cast<std::size_t>(m)].var);
    const char* what = s.kind == StagePlan::Kind::outputs    ? "outputs"
                       : s.kind == StagePlan::Kind::partials ? "chunks of reductions"
                                                             : "reductions from their chunks";
    out += fmt::format("stage {}: {}, ", k, what);
    out += any_length ? fmt::format("{} units a task\n", s.units_per_task)
                      : fmt::format("{} tasks of up to {} of {} units\n", s.tasks(),
                                    s.units_per_task, s.units);
    IndexArena arena;
    out += Notes(p, plan, s, buffers).text();
  }
  return out;
}

}  // namespace tessera::inline v0::codegen
