#include "codegen/kernel/kernel_schedule_print.h"

#include "codegen/kernel/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace tessera::inline v0::codegen {

namespace {

constexpr Var kLast = std::numeric_limits<Var>::max();

/// A loop and the contents of an iteration: lines and inner loops of rules, sorted by the variable
/// that they compute, followed by unsorted items. `next` is the stage's next inner loop.
struct PrintedBlock {
  struct Item {
    Var var;
    std::string line;
    std::unique_ptr<PrintedBlock> loop;
  };
  std::string head;
  int depth = 0;
  std::vector<Item> items;
  std::unique_ptr<PrintedBlock> next;

  void print(std::string& out) {
    // The order in which a rule requests its operands depends on the C++ compiler, so items are
    // sorted by variable, which gives program order.
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      if (a.var != b.var || a.var == kLast) return a.var < b.var;
      return std::pair(!a.loop, std::string_view(a.line)) <
             std::pair(!b.loop, std::string_view(b.line));
    });
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

/// A dry run of one stage's rules that records where each value is computed.
class Notes final : public Tracer {
 public:
  Notes(const Program& p, const KernelSchedule& plan, const StageSchedule& s,
        const std::unordered_set<Var>& buffers)
      : Tracer(p, buffers), plan_(plan), s_(s), buffers_(buffers) {}

  std::string text() {
    std::vector<Index> at = make_loops();
    row_.assign(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(s_.row_dims));
    const bool outputs = s_.kind == StageSchedule::Kind::outputs;
    for (int m : s_.row_members) {
      const Var v = program_.outputs[static_cast<std::size_t>(m)];
      const std::vector<Index> here =
          row_index(row_, std::span(s_.shape.data(), s_.row_dims), program_.type(v).shape);
      value(v, here);
      line(home_of(here), kLast, "store " + named(v, here));
    }
    std::vector<Var> vars;
    for (int m : s_.members)
      vars.push_back(outputs ? program_.outputs[static_cast<std::size_t>(m)]
                             : plan_.splits[static_cast<std::size_t>(m)].var);
    const bool chunks = s_.kind == StageSchedule::Kind::partials;
    auto inside = std::span(at).subspan(chunks ? 1 : 0);
    for (Var v : vars) value(v, inside);
    for (Var v : vars)
      line(innermost_, kLast,
           outputs  ? "store " + named(v, inside)
           : chunks ? "store chunk c of " + named(v, inside) + " to scratch"
                    : "store " + named(v, inside) + " to scratch");
    std::string out;
    root_.print(out);
    return out;
  }

  Lane value(Var v, std::span<const Index> at) override {
    if (!rules_.empty()) {
      auto& operands = rules_.back().operands;
      if (std::pair word(v, named(v, at)); std::count(operands.begin(), operands.end(), word) == 0)
        operands.push_back(std::move(word));
    }
    const Lane done{nullptr, program_.type(v).dtype};
    if (asked(v, at)) return done;
    const Equation* eqn = producer(v);
    if (!eqn || buffers_.contains(v)) {
      line(home_of(at), v, "load " + named(v, at) + source_of(v));
      return Tracer::value(v, at);
    }
    if (of_row(v, at)) {
      if (!kept_.contains(v)) keep(v, at.size());
      if (loaded_.insert(key_of(v, at)).second)
        line(home_of(at), v, "load " + named(v, at) + " from the row");
      return done;
    }
    PrintedBlock* home = split_here(v) ? innermost_ : home_of(at);
    rules_.push_back({v, home, {}, 0});
    Tracer::value(v, at);
    Rule rule = std::move(rules_.back());
    rules_.pop_back();
    std::stable_sort(rule.operands.begin(), rule.operands.end(), [&](const auto& a, const auto& b) {
      auto place = [&](Var operand) {
        return std::find(eqn->inputs.begin(), eqn->inputs.end(), operand);
      };
      return place(a.first) < place(b.first);
    });
    std::vector<std::string> operands;
    for (auto& [var, text] : rule.operands) operands.push_back(std::move(text));
    line(home, v,
         named(v, at) + " = " + eqn->op->name +
             (operands.empty() ? "" : "(" + joined(operands, ", ") + ")"));
    return done;
  }

  Index index(const Lane& number, std::int64_t lo, std::int64_t hi) override {
    Index i = Tracer::index(number, lo, hi);
    if (const Atom* a = single_atom(i))
      name(a, fmt::format("x{}.{}", rules_.back().var, rules_.back().data++), rules_.back().home);
    return i;
  }

  Lane reduce(std::span<const std::int64_t> extents, Lane init,
              const std::function<Lane(std::span<const Index>)>& element,
              const std::function<Lane(Lane, Lane)>& combine) override {
    auto loop = std::make_unique<PrintedBlock>();
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
    auto loop = std::make_unique<PrintedBlock>();
    std::vector<Lane> x = Tracer::fold(extents, std::move(init),
                                       [&](std::span<const Index> at, std::span<const Lane> best) {
                                         begin(*loop, extents, at, "");
                                         return step(at, best);
                                       });
    end(std::move(loop));
    return x;
  }

 private:
  struct Rule {
    Var var;
    PrintedBlock* home;
    std::vector<std::pair<Var, std::string>> operands;
    int data = 0;  // number of indices that it read from data
  };

  void name(const Atom* a, std::string text, PrintedBlock* home) {
    names_[a] = std::move(text);
    homes_[a] = home;
  }
  static void line(PrintedBlock* b, Var v, std::string text) {
    b->items.push_back({v, std::move(text), nullptr});
  }

  // Whether this stage computes the chunks of `v`.
  bool split_here(Var v) const {
    return s_.kind == StageSchedule::Kind::partials &&
           std::any_of(s_.members.begin(), s_.members.end(),
                       [&](int m) { return plan_.splits[static_cast<std::size_t>(m)].var == v; });
  }
  // Whether `at` lies in the row for which `v` is kept.
  bool of_row(Var v, std::span<const Index> at) const {
    if (std::count(s_.cached.begin(), s_.cached.end(), v) == 0 || at.size() <= row_.size() ||
        keeping_ == v)
      return false;
    for (std::size_t d = 0; d < row_.size(); ++d)
      if (node_of(at[d]) != node_of(row_[d])) return false;
    return true;
  }
  void keep(Var v, std::size_t rank) {
    kept_.insert(v);
    PrintedBlock* row = home_of(row_);
    auto loop = std::make_unique<PrintedBlock>();
    loop->depth = row->depth + 1;
    std::vector<Index> at = row_;
    std::vector<std::string> names, counts;
    for (std::size_t d = row_.size(); d < rank; ++d)
      variable(at.emplace_back(make_variable(program_.type(v).shape[d])), fmt::format("k{}", v),
               program_.type(v).shape[d], loop.get(), names, counts);
    loop->head = "for " + in_text(names, counts);
    const Var outer = std::exchange(keeping_, v);
    std::vector<Rule> rules = std::exchange(rules_, {});
    value(v, at);
    rules_ = std::move(rules);
    keeping_ = outer;
    line(loop.get(), kLast, "keep " + named(v, at) + " for the row");
    row->items.push_back({v, {}, std::move(loop)});
  }

  // Names the variables of a loop nest: k, then k.1, k.2.
  void variable(const Index& i, const std::string& stem, std::int64_t extent, PrintedBlock* loop,
                std::vector<std::string>& names, std::vector<std::string>& counts) {
    const Atom* a = single_atom(i);
    if (!a) return;
    names.push_back(names.empty() ? stem : fmt::format("{}.{}", stem, names.size()));
    counts.push_back(std::to_string(extent));
    name(a, names.back(), loop);
  }
  static std::string in_text(const std::vector<std::string>& names,
                             const std::vector<std::string>& counts) {
    if (names.empty()) return "one turn";
    if (names.size() == 1) return names[0] + " < " + counts[0];
    return "(" + joined(names, ", ") + ") in " + joined(counts, " x ");
  }

  std::vector<Index> make_loops() {
    std::vector<Index> at;
    const bool chunks = s_.kind == StageSchedule::Kind::partials;
    PrintedBlock* outer = &root_;
    root_.depth = -1;
    std::size_t d = 0;
    for (std::size_t k = 0; k < s_.dims.size(); ++k) {
      outer->next = std::make_unique<PrintedBlock>();
      PrintedBlock* b = outer->next.get();
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
    text += in_text(names, extents);
    if (static_cast<int>(k) == s_.tile)
      text += fmt::format(", pieces of {} that go innermost{}", s_.tile_length,
                          s_.tile_unrolled ? ", transposed in registers" : "");
    if (static_cast<int>(k) == s_.tile && s_.along_rows) text += ", one after the other";
    if (last && s_.block) text += fmt::format(", in parallel blocks of {}", s_.block);
    if (last && s_.width) text += fmt::format(", {} lanes", s_.width);
    for (std::size_t i = 0; last && i < s_.seams.size(); ++i)
      text += fmt::format("{} {}", i ? "," : ", cut at", s_.seams[i]);
    return text;
  }

  // Records a loop over these variables in the rule that is running.
  void begin(PrintedBlock& loop, std::span<const std::int64_t> extents, std::span<const Index> at,
             const std::string& form) {
    const Rule& rule = rules_.back();
    loop.depth = rule.home->depth + 1;
    std::vector<std::string> names, counts;
    for (std::size_t i = 0; i < at.size(); ++i)
      variable(at[i], fmt::format("r{}", rule.var), extents[i], &loop, names, counts);
    loop.head = "for " + in_text(names, counts) + (split_here(rule.var) ? " in chunk c" : "") +
                ", " + eqn_->op->name + form;
  }
  void end(std::unique_ptr<PrintedBlock> loop) {
    if (!loop->head.empty())
      rules_.back().home->items.push_back({rules_.back().var, {}, std::move(loop)});
  }

  // Describes how a reduction associates.
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

  /// The innermost loop on which `at` depends.
  PrintedBlock* home_of(std::span<const Index> at) {
    PrintedBlock* home = &root_;
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

  const KernelSchedule& plan_;
  const StageSchedule& s_;
  const std::unordered_set<Var>& buffers_;
  PrintedBlock root_;
  PrintedBlock* innermost_ = nullptr;
  std::map<const Atom*, std::string> names_;
  std::map<const Atom*, PrintedBlock*> homes_;
  std::vector<Rule> rules_;  // the rules that are running
  std::vector<Index> row_;
  std::unordered_set<Var> kept_;
  std::unordered_set<ValueKey, ValueKeyHash> loaded_;
  Var keeping_ = kLast;
};

std::string short_name(DType d) {
  std::string text = tessera::to_string(Type(d, {}));
  return text.substr(0, text.find('['));
}

std::string values_text(const Program& p, const std::vector<Var>& vars, bool any_length) {
  std::vector<std::string> all;
  for (Var v : vars) {
    const Type& t = p.type(v);
    const bool full = any_length && t.shape.rank() == 1;
    all.push_back(
        fmt::format("%{}: {}", v, full ? short_name(t.dtype) + "[n]" : tessera::to_string(t)));
  }
  return joined(all, ", ");
}

}  // namespace

std::string to_string(const Program& p, const KernelSchedule& plan) {
  const bool any_length = !plan.stages.empty() && plan.stages[0].any_length;
  std::string out = "inputs " + values_text(p, p.inputs, any_length) + "\n";
  out += "outputs " + values_text(p, p.outputs, any_length) + "\n";
  if (plan.scratch_bytes) out += fmt::format("scratch {} bytes\n", plan.scratch_bytes);
  for (auto [in, result] : plan.in_place)
    out += fmt::format("output {} may lie in the memory of input {}\n", result, in);
  for (std::size_t k = 0; k < plan.stages.size(); ++k) {
    const StageSchedule& s = plan.stages[k];
    std::unordered_set<Var> buffers = s.stored;
    buffers.insert(s.reduced.begin(), s.reduced.end());
    if (s.kind == StageSchedule::Kind::totals)
      for (int m : s.members) buffers.erase(plan.splits[static_cast<std::size_t>(m)].var);
    const char* what = s.kind == StageSchedule::Kind::outputs    ? "outputs"
                       : s.kind == StageSchedule::Kind::partials ? "chunks of reductions"
                                                                 : "reductions from their chunks";
    out += fmt::format("stage {}: {}, ", k, what);
    out += any_length ? "units" : s.units == 1 ? "1 unit" : fmt::format("{} units", s.units);
    out += fmt::format(" in tasks of {}\n",
                       any_length ? s.units_per_task : std::min(s.units, s.units_per_task));
    IndexArena arena;
    out += Notes(p, plan, s, buffers).text();
  }
  return out;
}

}  // namespace tessera::inline v0::codegen
