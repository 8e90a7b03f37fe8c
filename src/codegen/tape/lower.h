// Lowers a flat list of equations to steps over slots.
#pragma once

#include "codegen/fuse/fuse.h"
#include "codegen/tape/slots.h"
#include "codegen/tape/updates.h"

namespace tessera::inline v0::tape {

using codegen::Cluster;

/// The name of a step in profiles, prefixed by the scopes of its equation.
inline std::string in_scope(const Equation& eqn, const std::string& name) {
  return eqn.scope.empty() ? name : eqn.scope + "/" + name;
}

class Lowerer : SlotTable {
 public:
  Lowerer(TapeContext& ctx, DraftTape& draft, const Level& level, const Updates& updates,
          const std::vector<int>& ties, const Scope& scope, Mask inner, bool top);

  void run(const std::vector<Mask>* results);
  std::vector<std::vector<int>> hidden;

  /// Marks a result that the caller does not use.
  static constexpr Mask kSkipped = ~Mask{0};

 private:
  std::size_t add(Step step);
  void wait_for_readers(const Equation& eqn, std::size_t step);
  void keep_order(const Equation& eqn, std::size_t step);
  void hold(const std::vector<std::size_t>& equations);
  Ref new_value(Var v, Mask mask);
  int takes(const Equation& eqn, std::size_t result) const;
  Ref value_over(const Equation& eqn, std::size_t result, Mask mask, const Ref& operand);
  Ref dense(Var v);
  Ref axis_index(const std::vector<int>& axes);
  Ref copy_of(const Ref& from, Mask mask, const Type& type, Space space);
  void copy(const Ref& from, const Ref& to, Mask mask, const Type& type);
  Mask active(std::size_t equation) const;

  void lower_cluster(const Cluster& c);
  Cluster alone(std::size_t equation) const;
  ProgramPtr over_operands(const Equation& eqn) const;
  void lower_single(std::size_t i);
  bool lower_alias(const Equation& eqn);
  void lower_block(const Equation& eqn);
  Ref assemble(Var v);
  Ref assemble_from_processes(Var v, const Assembled& a, const Ref& block,
                              const spmd::Blocks& blocks);
  void lower_collective(const Equation& eqn, const Scope& scope);
  /// Whether devices along one of the collective's axes have separate memories.
  bool crosses_memories(const Collective& c) const;
  bool gather_in_place(const Equation& eqn, const Collective& c);
  void share_in_groups(Slot& s, const Collective& c) const;
  bool broadcast_in_place(const Equation& eqn, const Collective& c);
  bool permute_argument(const Equation& eqn, const Collective& c);
  Cost work_of(const Cluster& c) const;
  void lower_evaluate(const Equation& eqn, std::size_t i);
  void lower_control(const Equation& eqn, std::size_t i);
  std::vector<int> loop_ties(const Equation& eqn, const Flow& flow) const;
  void lower_scan(const Equation& eqn, const Flow& flow, const Scope& scope, Mask outer, Mask inner,
                  Mask stored);
  void lower_loop(const Equation& eqn, const Flow& flow, const Scope& scope, Mask outer, Mask inner,
                  Mask stored);
  void lower_branches(const Equation& eqn, const Flow& flow, const Scope& scope, Mask outer,
                      Mask inner, Mask stored);
  /// Adds a step of the kind `control`, which gets the bodies here.
  template <class Control>
  void add_control(Step step, Control control, const Equation& eqn,
                   const std::vector<Lowered>& bodies);
  void place_results(const std::vector<Mask>* results);
  int tied_slot(const Ref& r, std::size_t result, Mask mask, const Type& type);

  const Level& level_;
  const Program& flat_;
  const Updates& updates_;
  const std::vector<int>& ties_;
  Scope scope_;
  Mask inner_;
  bool top_;
  std::vector<Ref> ref_;        // by variable
  std::vector<int> assembled_;  // by variable: index in assemblies_, -1
  std::vector<Assembled> assemblies_;
  std::vector<std::size_t> after_;    // steps that the steps being added must wait for
  std::optional<std::size_t> acted_;  // the last step that has effects
  std::map<std::vector<int>, Ref> axis_indices_;
  std::map<std::tuple<std::size_t, int, Spec>, Ref> blocks_;  // arguments by input, region, spec
};

/// The axes over which a program communicates, including its nested programs, and whether it
/// contains shard_maps.
struct Communication {
  Mask axes = 0;
  bool regions = false;
  bool any() const { return axes != 0 || regions; }
};
Communication communication_of(const Program& p, const Scope& scope);

std::shared_ptr<const Collective> make_collective(const Equation& eqn, const Type& in,
                                                  const Type& out, const Scope& scope,
                                                  const TapeContext& ctx);

}  // namespace tessera::inline v0::tape
