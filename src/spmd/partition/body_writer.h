// Writes the per-device program of a program: plain equations in body_writer.cc, values and how
// they come to where they are read in body_values.cc, what their parts hold behind the end of the
// whole in body_padding.cc, control flow in body_flow.cc and body_sums.cc.
#pragma once

#include "ir/builder.h"
#include "spmd/partition/divide.h"
#include "spmd/partition/partition.h"

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace tessera::inline v0::spmd {

/// How values move and work is divided where devices hold values of their own along some atoms.
struct Ways {
  Ways(const Links& links, PlacementTable& placements, AtomSet barred)
      : routes(links, placements, barred), divider(placements, routes) {}
  Routes routes;
  Divider divider;
};

/// What the writers of a program's bodies share.
struct PartitionWork {
  PartitionWork(const AtomMesh& m, const Propagation& p, const PartitionOptions& o)
      : mesh(m), where(p), poison(o.poison), placements(m), links(o.links) {}
  Ways& ways(AtomSet barred) {
    return known_ways.try_emplace(barred.bits(), links, placements, barred).first->second;
  }

  const AtomMesh& mesh;
  const Propagation& where;
  const bool poison;
  PlacementTable placements;
  const Links& links;
  std::map<std::uint64_t, Ways> known_ways;  // by the bits of what is barred
  DivisionRules rules;
  std::vector<CollectiveCause> causes;
  /// Where the outputs of a scope came out on trial, by the scope, where its inputs lie, and which
  /// of these are free: loops inside loops ask the same again and again.
  std::map<std::tuple<std::size_t, std::vector<PlacementTable::Id>, std::vector<bool>>,
           std::vector<PlacementTable::Id>>
      trials;
};

/// One body. A slot is a value of the program and its copies, each where somebody needed it.
class BodyWriter {
 public:
  using Slot = std::uint32_t;
  using Id = PlacementTable::Id;

  /// The body runs so many times; `in_while`: more often.
  BodyWriter(PartitionWork& work, Builder& b, std::int64_t times, bool in_while)
      : work_(work), ways_(&work.ways({})), b_(b), times_(times), in_while_(in_while) {}

  /// A device's part, of a value of type `whole`, which outlives the writer.
  Slot add(const Type& whole, Id at, Value part);
  /// An input of the body that lies so.
  Slot input(const Type& whole, Id at);
  /// The equations of a scope (spmd/propagate/propagate.h); gives its outputs.
  std::vector<Slot> walk(std::size_t scope, std::span<const Slot> inputs);
  /// The part of a value that lies so.
  Value at(Slot slot, Id id);

 private:
  struct Copy {
    Id at;
    Value value;
  };
  struct Held {
    const Type* type = nullptr;
    InlineVector<Copy, 2> copies;
    // Made of scalars where it is read, each time as it is needed.
    const Equation* made_by = nullptr;
    const DivisionRule* rule = nullptr;
    std::vector<Slot> made_of;
    bool zero = false;
    bool free = false;  // on trial: it may lie and be partial in any way
  };
  // A collective of the program's own that combines what is partial over other axes, too.
  struct OwnSum {
    Value operand;
    const Equation* by;
    std::size_t cause;  // its place among them
  };
  static constexpr Slot kNoSlot = static_cast<Slot>(-1);
  struct Frame {
    const Program& program;
    std::size_t scope;
    std::vector<Slot> slots;            // by variable
    std::vector<std::uint32_t> reads;   // by variable, by equations that somebody needs
    std::vector<std::uint32_t> reader;  // the first of these
    std::unordered_map<Var, Id> ends;   // where results lie that nobody else reads
  };
  // Sets where new equations come from, for a scope.
  class At;

  Id lies(std::size_t scope, Var v) const;
  Id lies_output(std::size_t scope, std::size_t i) const;

  void equation(Frame& f, std::size_t k, const Equation& eqn);
  void plain(Frame& f, std::size_t k, const Equation& eqn);
  Value on_one_device(std::size_t scope, Value holds);
  void find_sum(const Frame& f, Var v, ResultState& result) const;
  bool is_made_anywhere(const Frame& f, const Equation& eqn) const;
  void make_anywhere(Frame& f, const Equation& eqn);
  Values emit(const Equation& eqn, const DivisionRule& rule, const Division& division,
              std::span<const Id> operands, std::span<const Id> results, Values parts);
  void fill_up(const DivisionRule& rule, const Division& division, Values& parts);
  Value behind(Value part, std::size_t dim, std::int64_t extent, const Atoms& cut,
               const Literal& fill);
  /// A new copy; gives it.
  Value hold(Held& h, Id at, Value part);
  Value make(Slot slot, Id id);
  Value without_elements(const Held& h, Id id);
  void find_own_sum(const Equation& eqn, Value operand, const Held& result);
  std::optional<Value> summed_at_once(Held& h, const Copy& from, const Reshard& plan);
  static Value like(const Type& type, Value part);
  void note(const Reshard& plan, const Type& whole);
  void note_emitted(std::size_t first);

  void flow(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow);
  void inlined(Frame& f, std::size_t k, const Equation& eqn);
  void region(Frame& f, std::size_t k, const Equation& eqn);
  /// Replaces placements of what a loop's body takes, body_sums.cc.
  void keep_sums(const Flow& flow, std::span<const std::uint32_t> scopes, std::vector<Id>& inputs);
  /// Replaces placements of what branches give, where it goes to a sum that is partial.
  void keep_chosen_sums(const Frame& f, const Equation& eqn, std::span<const std::uint32_t> scopes,
                        std::span<const Id> inputs, std::vector<Id>& outputs);
  /// Where the outputs of a scope come out, in a body that is thrown away; those inputs that are
  /// `free` may lie and be partial in any way.
  std::vector<Id> come_out(std::size_t scope, std::span<const Id> inputs,
                           const std::vector<bool>& free);
  /// A part that counts on the first device along the atoms alone.
  Value as_partial(Value part, AtomSet atoms);
  /// The program of a scope as one of its own, from and to these placements.
  ProgramPtr nested(std::size_t scope, std::span<const Id> inputs, std::span<const Id> outputs,
                    std::int64_t times, bool in_while);

  PartitionWork& work_;
  Ways* ways_;
  Builder& b_;
  std::int64_t times_;
  bool in_while_;
  std::deque<Held> held_;
  /// Parts with neutral elements behind the end of the whole: by the part, the dimension, its whole
  /// extent, and what the elements are neutral to.
  std::map<std::tuple<Var, std::size_t, std::int64_t, Combiner>, Value> filled_;
  /// By its result, as long as nobody has read that.
  std::unordered_map<Var, OwnSum> own_sums_;
  const Equation* now_ = nullptr;
};

class BodyWriter::At {
 public:
  At(BodyWriter& w, const Equation& eqn)
      : w_(w), loc_(w.b_.loc), scope_(w.b_.scope), before_(w.now_) {
    w.now_ = &eqn;
    if (eqn.loc) w.b_.loc = eqn.loc;
    if (!eqn.scope.empty()) w.b_.scope = scope_.empty() ? eqn.scope : scope_ + "/" + eqn.scope;
  }
  ~At() {
    w_.b_.loc = loc_;
    w_.b_.scope = std::move(scope_);
    w_.now_ = before_;
  }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  BodyWriter& w_;
  SourceLoc loc_;
  std::string scope_;
  const Equation* before_;
};

}  // namespace tessera::inline v0::spmd
