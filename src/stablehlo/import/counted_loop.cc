#include "stablehlo/import/counted_loop.h"

#include "ir/nested.h"
#include "ops/build.h"
#include "stablehlo/import/loop_rows.h"
#include "stablehlo/import/progressions.h"

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <map>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

namespace {

constexpr std::int64_t kMostTurns = std::int64_t{1} << 50;

using MaybeProgression = std::optional<Progression>;

// The equation that defines each variable; null for inputs.
std::vector<const Equation*> producers_of(const Program& p) {
  std::vector<const Equation*> made_by(p.types.size());
  for (const Equation& e : p.equations)
    for (const Var v : e.outputs) made_by[v] = &e;
  return made_by;
}

// The number of uses of each variable, by equations and as a result.
std::vector<std::size_t> uses_of(const Program& p) {
  std::vector<std::size_t> uses(p.types.size());
  for (const Equation& e : p.equations)
    for (const Var v : e.inputs) ++uses[v];
  for (const Var v : p.outputs) ++uses[v];
  return uses;
}

class CountedLoop {
 public:
  CountedLoop(Reading& r, const RegionProgram& condition, const RegionProgram& body)
      : r_(r),
        condition_(condition),
        body_(body),
        program_(*body.program),
        made_by_(producers_of(program_)),
        uses_(uses_of(program_)) {}

  std::optional<Values> results();

 private:
  struct Read {
    std::size_t array;  // an input of the body
    Rows rows;
    auto operator<=>(const Read&) const = default;
  };
  std::size_t carries() const { return r_.in.size(); }
  bool is_handed_on(std::size_t k) const { return program_.outputs[k] == program_.inputs[k]; }
  /// Whether an input of the body is the same in all iterations; and its value outside the loop.
  bool is_constant(std::size_t input) const { return input >= carries() || is_handed_on(input); }
  Value outside(std::size_t input) const {
    return input < carries() ? r_.in[input] : body_.captured[input - carries()];
  }
  MaybeProgression known_constant(Value v) const;
  MaybeProgression known_array(Value v) const;
  void find_counters();
  std::optional<std::int64_t> count_turns() const;
  void find_rows();
  void find_needed();
  bool is_needed(const Equation& e) const;
  Values scan();

  Reading& r_;
  const RegionProgram &condition_, &body_;
  const Program& program_;
  std::vector<const Equation*> made_by_;
  std::vector<std::size_t> uses_;

  std::vector<MaybeProgression> inputs_;  // of the body
  std::vector<bool> counts_;              // by carry
  std::int64_t turns_ = 0;
  bool reverse_ = false;
  std::unordered_map<const Equation*, Read> reads_;  // by the slice
  std::vector<std::optional<RowUpdate>> written_;    // by carry
  std::vector<bool> needed_;                         // by variable of the body
};

MaybeProgression CountedLoop::known_constant(Value v) const {
  if (v.rank() != 0) return std::nullopt;
  const std::optional<Ints> n = r_.known_integers(v);
  // A uint64 that does not fit in int64 reads as a negative number.
  if (!n || n->size() != 1 || (v.dtype() == DType::uint64 && n->front() < 0)) return std::nullopt;
  return Progression{n->front(), 0};
}

// The elements of an integer array as a progression of their index: an iota, or a short array of
// known elements.
MaybeProgression CountedLoop::known_array(Value v) const {
  if (v.rank() != 1 || !is_integer(v.dtype())) return std::nullopt;
  const std::int64_t count = v.shape()[0];
  Level& level = r_.scope.level();
  Value from = v;
  for (const Equation* e = level.made_by(from); e; e = level.made_by(from)) {
    if (e->op->stablehlo == "iota" && stays_within({0, 1}, v.dtype(), count))
      return Progression{0, 1};
    if (e->op->stablehlo != "convert") break;
    from = Value{from.builder, e->inputs[0]};
    if (!is_integer(from.dtype()) || !stays_within({0, 1}, from.dtype(), count)) break;
  }
  const std::optional<Ints> all = r_.known_integers(v);
  if (!all || all->size() < 2) return std::nullopt;
  Progression p{all->front(), 0};
  if (__builtin_sub_overflow((*all)[1], p.start, &p.step)) return std::nullopt;
  for (std::size_t i = 0; i < all->size(); ++i)
    if (p.at(static_cast<std::int64_t>(i)) != (*all)[i]) return std::nullopt;
  return stays_within(p, v.dtype(), count - 1) ? MaybeProgression(p) : std::nullopt;
}

// A carry is a counter if its next value is its own plus or minus a known number.
void CountedLoop::find_counters() {
  for (std::size_t i = 0; i < program_.inputs.size(); ++i)
    inputs_.push_back(is_constant(i) ? known_constant(outside(i)) : std::nullopt);
  counts_.assign(carries(), false);
  const Progressions constants(program_, inputs_, std::nullopt);
  for (std::size_t k = 0; k < carries(); ++k) {
    const MaybeProgression start = is_handed_on(k) ? std::nullopt : known_constant(r_.in[k]);
    const Equation* next = made_by_[program_.outputs[k]];
    if (!start || !next || next->inputs.size() != 2) continue;
    const bool adds = next->op->stablehlo == "add";
    if (!adds && next->op->stablehlo != "subtract") continue;
    const Var self = program_.inputs[k];
    const std::size_t at = next->inputs[0] == self ? 1 : 0;
    const MaybeProgression& step = constants[next->inputs[at]];
    if (next->inputs[1 - at] != self || (!adds && at == 0) || !step || !step->is_constant())
      continue;
    std::int64_t by = step->start;
    if (!adds && __builtin_sub_overflow(std::int64_t{0}, by, &by)) continue;
    inputs_[k] = Progression{start->start, by};
    counts_[k] = true;
  }
}

// Derives the number of iterations from a condition that compares two progressions of the counters.
std::optional<std::int64_t> CountedLoop::count_turns() const {
  const Program& p = *condition_.program;
  const std::vector<const Equation*> made_by = producers_of(p);
  const Equation* comparison = made_by[p.outputs[0]];
  if (!comparison || comparison->inputs.size() != 2) return std::nullopt;
  std::vector<MaybeProgression> inputs(inputs_.begin(),
                                       inputs_.begin() + static_cast<std::ptrdiff_t>(carries()));
  for (const Value& v : condition_.captured) inputs.push_back(known_constant(v));
  const Progressions known(p, std::move(inputs), std::nullopt);
  const MaybeProgression &a = known[comparison->inputs[0]], &b = known[comparison->inputs[1]];
  if (!a || !b) return std::nullopt;
  const std::optional<std::int64_t> turns = first_failure(*comparison, *a, *b);
  if (!turns || *turns > kMostTurns || !known.hold_until(*turns)) return std::nullopt;
  for (const Var v : comparison->inputs)
    if (!stays_within(*known[v], p.type(v).dtype, *turns)) return std::nullopt;
  return turns;
}

void CountedLoop::find_rows() {
  std::unordered_map<Var, std::size_t> constants;
  ProgressionArrays counting;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    if (!is_constant(i)) continue;
    constants.emplace(program_.inputs[i], i);
    if (const MaybeProgression by_place = known_array(outside(i)))
      counting.emplace(program_.inputs[i], *by_place);
  }
  const Progressions known(program_, inputs_, turns_ - 1, std::move(counting));
  for (const Equation& e : program_.equations) {
    if (e.op->stablehlo != "dynamic_slice") continue;
    const auto array = constants.find(e.inputs[0]);
    if (array == constants.end()) continue;
    const Shape& part = program_.type(e.outputs[0]).shape;
    const std::optional<Rows> rows =
        rows_of(program_.type(e.inputs[0]).shape, Ints(part.begin(), part.end()),
                std::span(e.inputs).subspan(1), known, turns_);
    if (rows) reads_.emplace(&e, Read{array->second, *rows});
  }
  written_.resize(carries());
  for (std::size_t k = 0; k < carries(); ++k) {
    const Var in = program_.inputs[k], out = program_.outputs[k];
    const Equation* e = made_by_[out];
    // The update is the only reader of the array, and the loop is the only reader of the update.
    if (e && !e->inputs.empty() && e->inputs[0] == in && uses_[in] == 1 && uses_[out] == 1)
      written_[k] = row_update(program_, *e, known, turns_);
  }
  // The scan runs backwards if all rows are read and written backwards.
  std::size_t forward = 0, backward = 0;
  const auto vote = [&](const Rows& rows) { ++(rows.descends() ? backward : forward); };
  for (const auto& [slice, read] : reads_) vote(read.rows);
  for (const std::optional<RowUpdate>& w : written_)
    if (w) vote(w->rows);
  reverse_ = backward > 0 && forward == 0;
}

bool CountedLoop::is_needed(const Equation& e) const {
  return has_effects(e) ||
         std::any_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return needed_[v]; });
}

// Marks the variables that the carries, the written rows and the effects depend on. A counter is
// needed only if something other than its own increment reads it.
void CountedLoop::find_needed() {
  needed_.assign(program_.types.size(), false);
  for (std::size_t k = 0; k < carries(); ++k) {
    if (is_handed_on(k) || counts_[k]) continue;
    needed_[written_[k] ? written_[k]->part : program_.outputs[k]] = true;
  }
  for (bool grew = true; grew;) {
    grew = false;
    for (auto e = program_.equations.rbegin(); e != program_.equations.rend(); ++e) {
      if (!is_needed(*e) || reads_.contains(&*e)) continue;
      for (const Var v : e->inputs) needed_[v] = true;
      for (const Var v : e->outputs) needed_[v] = true;
    }
    for (std::size_t k = 0; k < carries(); ++k) {
      if (!counts_[k] || !needed_[program_.inputs[k]] || needed_[program_.outputs[k]]) continue;
      needed_[program_.outputs[k]] = grew = true;
    }
  }
}

Values CountedLoop::scan() {
  const auto plain = [](Value v) { return Type(v.dtype(), v.shape()); };
  Builder step(program_.name);
  step.loc = r_.b.loc;
  std::vector<Value> inner(program_.types.size());
  Values consts, carry, xs, next;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const Var v = program_.inputs[i];
    if (!is_constant(i) || !needed_[v]) continue;
    consts.push_back(outside(i));
    inner[v] = step.input(plain(consts.back()));
  }
  std::vector<std::size_t> carried, stacked;
  for (std::size_t k = 0; k < carries(); ++k) {
    const Var v = program_.inputs[k];
    if (is_handed_on(k) || (counts_[k] && !needed_[v])) continue;
    (written_[k] ? stacked : carried).push_back(k);
    if (written_[k]) continue;
    carry.push_back(r_.in[k]);
    inner[v] = step.input(plain(r_.in[k]));
  }
  std::map<Read, Value> rows;
  for (const Equation& e : program_.equations) {
    const auto read = reads_.find(&e);
    if (read == reads_.end() || !is_needed(e) || rows.contains(read->second)) continue;
    xs.push_back(stacked_rows(outside(read->second.array), read->second.rows, turns_, reverse_));
    rows.emplace(read->second, step.input(Type(xs.back().dtype(), row_shape(read->second.rows))));
  }
  for (const Equation& e : program_.equations) {
    if (!is_needed(e)) continue;
    if (const auto read = reads_.find(&e); read != reads_.end()) {
      inner[e.outputs[0]] = ops::reshape(rows.at(read->second), program_.type(e.outputs[0]).shape);
      continue;
    }
    Values operands;
    for (const Var v : e.inputs) operands.push_back(inner[v]);
    const Values out = step.copy(e, operands);
    for (std::size_t i = 0; i < out.size(); ++i) inner[e.outputs[i]] = out[i];
  }
  for (const std::size_t k : carried) next.push_back(inner[program_.outputs[k]]);
  for (const std::size_t k : stacked) {
    next.push_back(ops::reshape(inner[written_[k]->part], row_shape(written_[k]->rows)));
  }
  const Values out = ops::scan(step.finish(next), consts, carry, xs, turns_, reverse_, r_.b);

  Values results = r_.in;
  for (std::size_t i = 0; i < carried.size(); ++i) results[carried[i]] = out[i];
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    const std::size_t k = stacked[i];
    results[k] = with_rows(r_.in[k], out[carried.size() + i], written_[k]->rows, turns_, reverse_);
  }
  return results;
}

std::optional<Values> CountedLoop::results() {
  find_counters();
  const std::optional<std::int64_t> turns = count_turns();
  if (!turns) return std::nullopt;
  turns_ = *turns;
  if (turns_ == 0) return r_.in;
  for (std::size_t k = 0; k < carries(); ++k)
    if (counts_[k] && !stays_within(*inputs_[k], r_.in[k].dtype(), turns_)) {
      counts_[k] = false;
      inputs_[k].reset();
    }
  find_rows();
  find_needed();
  Values results = scan();
  for (std::size_t k = 0; k < carries(); ++k)
    if (counts_[k])
      results[k] = r_.scope.level().write(
          {scalar_literal(r_.in[k].dtype(), *inputs_[k]->at(turns_)), Shape()});
  return results;
}

}  // namespace

std::optional<Values> counted_loop(Reading& r, const RegionProgram& condition,
                                   const RegionProgram& body) {
  return CountedLoop(r, condition, body).results();
}

}  // namespace tessera::inline v0::stablehlo
