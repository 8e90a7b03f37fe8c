// Writes the per-device version of a program. Plain equations are in body_writer.cc, values and
// their resharding in body_values.cc, the contents of padding in body_padding.cc, and control flow
// in body_flow.cc and body_sums.cc.
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

/// Resharding routes and the work divider for one set of barred atoms, along which devices hold
/// different values.
struct Ways {
  Ways(const Links& links, PlacementTable& placements, AtomSet barred)
      : routes(links, placements, barred), divider(placements, routes) {}
  Routes routes;
  Divider divider;
};

/// State shared by the writers of all bodies of a program.
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
  std::map<std::uint64_t, Ways> known_ways;  // by the bits of the barred set
  DivisionRules rules;
  std::vector<CollectiveCause> causes;
  /// Memoises the output placements found by trial writing, keyed by the scope, the placements of
  /// its inputs, and which inputs are free. Nested loops ask the same question many times.
  std::map<std::tuple<std::size_t, std::vector<PlacementTable::Id>, std::vector<bool>>,
           std::vector<PlacementTable::Id>>
      trials;
};

/// Writes one body. A slot is a value of the whole program together with its copies, one for each
/// placement in which a reader needed it.
class BodyWriter {
 public:
  using Slot = std::uint32_t;
  using Id = PlacementTable::Id;

  /// `times`: how often the body runs. `in_while`: it may run more often, because it is in a while
  /// loop.
  BodyWriter(PartitionWork& work, Builder& b, std::int64_t times, bool in_while)
      : work_(work), ways_(&work.ways({})), b_(b), times_(times), in_while_(in_while) {}

  /// Adds a device's part of a value of type `whole`, which must outlive the writer.
  Slot add(const Type& whole, Id at, Value part);
  /// Adds an input of the body with placement `at`.
  Slot input(const Type& whole, Id at);
  /// Writes the equations of a scope (spmd/propagate/propagate.h); returns its outputs.
  std::vector<Slot> walk(std::size_t scope, std::span<const Slot> inputs);
  /// A device's part of a value under placement `id`; reshards if necessary.
  Value at(Slot slot, Id id);

 private:
  struct Copy {
    Id at;
    Value value;
  };
  struct Held {
    const Type* type = nullptr;
    InlineVector<Copy, 2> copies;
    // The value is computed from scalars, and is therefore materialised at each reader.
    const Equation* made_by = nullptr;
    const DivisionRule* rule = nullptr;
    std::vector<Slot> made_of;
    bool zero = false;
    bool free = false;  // on trial: any placement and any partial sum is accepted
  };
  // A collective of the user's program that can also reduce partial sums over other axes.
  struct OwnSum {
    Value operand;
    const Equation* by;
    std::size_t cause;  // its index in `causes`
  };
  static constexpr Slot kNoSlot = static_cast<Slot>(-1);
  struct Frame {
    const Program& program;
    std::size_t scope;
    std::vector<Slot> slots;            // by variable
    std::vector<std::uint32_t> reads;   // by variable: number of needed equations that read it
    std::vector<std::uint32_t> reader;  // by variable: the first of these equations
    std::unordered_map<Var, Id> ends;   // placements of results that nothing else reads
  };
  // While it is alive, sets the source location and scope of new equations.
  class At;

  Id lies(std::size_t scope, Var v) const;
  Id lies_output(std::size_t scope, std::size_t i) const;

  void equation(Frame& f, std::size_t k, const Equation& eqn);
  void plain(Frame& f, std::size_t k, const Equation& eqn);
  std::pair<Strings, std::int64_t> automatic_axes(std::size_t scope) const;
  void on_each_device(Frame& f, const Equation& eqn);
  Value on_one_device(std::size_t scope, Value holds);
  Value from_one_device(std::size_t scope, Value result);
  void find_sum(const Frame& f, Var v, ResultState& result) const;
  bool is_made_anywhere(const Frame& f, const Equation& eqn) const;
  void make_anywhere(Frame& f, const Equation& eqn);
  Values emit(const Equation& eqn, const DivisionRule& rule, const Division& division,
              std::span<const Id> operands, std::span<const Id> results, Values parts);
  void fill_up(const DivisionRule& rule, const Division& division, Values& parts);
  Value behind(Value part, std::size_t dim, std::int64_t extent, const Atoms& cut,
               const Literal& fill);
  /// Adds a copy and returns it.
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
  /// Replaces placements of a loop body's inputs (body_sums.cc).
  void keep_sums(const Flow& flow, std::span<const std::uint32_t> scopes, std::vector<Id>& inputs);
  /// Replaces placements of branch outputs that are added to a partial sum.
  void keep_chosen_sums(const Frame& f, const Equation& eqn, std::span<const std::uint32_t> scopes,
                        std::span<const Id> inputs, std::vector<Id>& outputs);
  /// The placements in which the outputs of a scope come out, found by writing a body that is
  /// discarded. Inputs marked `free` accept any placement and any partial sum.
  std::vector<Id> come_out(std::size_t scope, std::span<const Id> inputs,
                           const std::vector<bool>& free);
  Value as_terms(Slot slot, const Placement& reduced, AtomSet atoms, Id id);
  /// Makes a part count only on the first device along the atoms, as a partial sum.
  Value as_partial(Value part, AtomSet atoms);
  /// Writes the program of a scope as a nested program with these input and output placements.
  ProgramPtr nested(std::size_t scope, std::span<const Id> inputs, std::span<const Id> outputs,
                    std::int64_t times, bool in_while);

  PartitionWork& work_;
  Ways* ways_;
  Builder& b_;
  std::int64_t times_;
  bool in_while_;
  std::deque<Held> held_;
  /// Parts whose padding is filled with neutral elements, keyed by the part, the dimension, its
  /// whole extent, and the combiner that the elements are neutral for.
  std::map<std::tuple<Var, std::size_t, std::int64_t, Combiner>, Value> filled_;
  /// Keyed by the collective's result, as long as nothing has read it.
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
