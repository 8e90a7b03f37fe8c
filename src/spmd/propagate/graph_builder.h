// Builds the graph of a program's values: plain equations and constraints in value_graph.cc,
// control flow in graph_flow.cc, inputs and outputs in graph_ends.cc.
#pragma once

#include "spmd/propagate/rule_table.h"
#include "spmd/propagate/value_graph.h"

#include <array>
#include <initializer_list>

namespace tessera::inline v0::spmd {

class GraphBuilder {
 public:
  GraphBuilder(ValueGraph& g, const AtomMesh& mesh, DraftTable& drafts);

  void program(const Program& p, const PropagationOptions& options);

 private:
  using Id = ValueGraph::Id;
  // State while a program is walked. `now` gives the current value of each variable. It differs
  // from the value at the definition after a constraint on a loop-carried value: later users read
  // the constraint's result.
  struct Frame {
    const Program& program;
    std::uint32_t scope;
    std::vector<Id> now;
  };
  struct Info {
    std::uint32_t readers = 0;
    bool split = false;   // each reader gets its own copy
    bool asked = false;   // a sharding was requested for it
    bool shared = false;  // control flow binds several values to it
  };
  // A constraint or an output that requests a placement where the value is produced.
  struct Wish {
    Id value, like;
    std::uint32_t asked;
  };

  Id value(int rank, AtomSet barred);
  Id value(DraftTable::Id draft);
  Id read(Frame& f, std::size_t equation, std::size_t operand, Var v);
  void define(Frame& f, Var v, Id id);
  /// Reserves a node at its position in the program's order, for connect().
  std::uint32_t reserve(const Frame& f, std::size_t equation);
  void connect(std::uint32_t node, std::uint32_t rule,
               std::initializer_list<std::span<const Id>> ends);

  /// Returns the outputs. `parent` and `equation` identify the equation that runs the program,
  /// unless it is the outermost.
  std::vector<Id> walk(const Program& p, ProgramPtr hold, std::span<const Id> inputs,
                       std::size_t parent, std::size_t equation, AtomSet barred);
  void plain(Frame& f, std::size_t k, const Equation& eqn);
  void constraint(Frame& f, std::size_t k, const Equation& eqn);

  void flow(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow);
  void call(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow);
  void branch(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow);
  void loop(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow);
  void region(Frame& f, std::size_t k, const Equation& eqn);
  /// The value for an operand or result of a region, placed as its spec says.
  Id region_end(const Spec& spec, int rank, AtomSet manual, AtomSet barred, std::size_t k,
                std::uint32_t scope);
  /// Reads an output of a nested program, as an operand of the pseudo-equation behind the last of
  /// its scope.
  Id read_output(std::uint32_t scope, std::size_t i);

  std::vector<Id> inputs(const Program& p, const PropagationOptions& options);
  Id wanted(const RequestedPlacement& w, const Shape& shape, Origin::Kind kind, std::size_t index);
  void outputs(const Program& p, const PropagationOptions& options);
  void alike(const Program& p, const PropagationOptions& options);

  void grant_wishes();
  void finish();

  ValueGraph& g_;
  const AtomMesh& mesh_;
  DraftTable& drafts_;
  RuleTable rules_;
  std::vector<Info> values_;
  std::vector<Wish> wishes_;
  AtomSet all_;
  AtomSet usual_barred_;
  std::vector<DraftTable::Id> usual_;  // by rank
  std::vector<Id> operands_, results_;
};

}  // namespace tessera::inline v0::spmd
