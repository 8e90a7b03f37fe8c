// A program and its nested programs as one graph. The nodes are equations and control-flow edges,
// each with a rule by which axes propagate between its values.
#pragma once

#include "ir/op.h"
#include "spmd/place/draft.h"
#include "spmd/propagate/cut_rule.h"
#include "spmd/propagate/propagate.h"
#include "spmd/propagate/rule_table.h"

#include <deque>
#include <unordered_map>
#include <vector>

namespace tessera::inline v0::spmd {

/// One Id per group of values that must have the same placement: an operand and the parameter it is
/// bound to, all positions of a loop-carried value, or a branch's operand and its parameter.
struct ValueGraph {
  using Id = std::uint32_t;
  static constexpr Id scalar = 0;  // shared by all values without dimensions
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

  /// Values without dimensions are omitted.
  struct Node {
    std::uint32_t rule = 0, first = 0, count = 0;  // its values are ends[first], ...
    std::uint32_t scope = 0, equation = 0;         // of the equation it represents
    bool read_once = true;                         // no other equation reads its operands
  };
  struct Scope {
    const Program* program = nullptr;
    ProgramPtr hold;
    std::vector<Id> of;  // by variable, at its definition
    std::vector<Id> outputs;
    AtomSet barred;  // axes that an enclosing region manages itself
  };
  /// A placement that was requested for a value.
  struct Asked {
    Id value;
    Origin::Kind kind;
    std::uint32_t index, scope;
  };
  /// A dimension that stays hidden until propagation reaches its priority.
  struct Hidden {
    Id value;
    int dim, priority;
    Atoms atoms;
    bool open;
    std::uint32_t asked;
  };

  std::deque<CutRule> rules;
  std::vector<Node> nodes;  // in program order, nested programs in place
  std::vector<Id> ends;
  std::deque<Scope> scopes;
  std::vector<DraftTable::Id> drafts;  // by value, initial
  std::vector<Asked> asked;
  std::vector<Hidden> hidden;
  std::vector<Id> outputs;  // as the program's callers see them
  /// An equation or one of its operands.
  struct Place {
    std::size_t scope, equation, operand = 0;
    bool operator==(const Place&) const = default;
  };
  struct HashOfPlace {
    std::size_t operator()(const Place& p) const {
      std::size_t h = p.scope;
      mix(h, p.equation);
      mix(h, p.operand);
      return h;
    }
  };
  /// Operands whose placement differs from their variable's, and the scopes of nested programs.
  std::unordered_map<Place, Id, HashOfPlace> read_as;
  std::unordered_map<Place, std::vector<std::uint32_t>, HashOfPlace> nested;
  // The nodes of a value are around[starts[value]] to around[starts[value + 1]].
  std::vector<std::uint32_t> starts, around;
};

/// Adds the drafts that the graph refers to into `drafts`.
ValueGraph value_graph(const Program& program, const AtomMesh& mesh,
                       const PropagationOptions& options, DraftTable& drafts);

}  // namespace tessera::inline v0::spmd
