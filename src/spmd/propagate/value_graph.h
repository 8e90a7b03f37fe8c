// A program and those nested in it as one graph: values, and equations and edges of control flow
// between them, each with a rule by which axes go along.
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

/// A number stands for what all ends of a call, the body's argument, its condition's and the result
/// of a carried slot, or a branch's operands inside and outside share: one placement.
struct ValueGraph {
  using Id = std::uint32_t;
  static constexpr Id scalar = 0;  // all values without dimensions
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

  /// Values without dimensions are left out.
  struct Node {
    std::uint32_t rule = 0, first = 0, count = 0;  // its values are ends[first] ...
    std::uint32_t scope = 0, equation = 0;         // that it belongs to
    bool read_once = true;                         // nobody else reads its operands
  };
  struct Scope {
    const Program* program = nullptr;
    ProgramPtr hold;
    std::vector<Id> of;  // by variable, where it is defined
    std::vector<Id> outputs;
    AtomSet barred;  // axes that a region around it cuts by itself
  };
  /// What was asked of a value from the start.
  struct Asked {
    Id value;
    Origin::Kind kind;
    std::uint32_t index, scope;
  };
  /// A dimension whose turn comes with its priority.
  struct Hidden {
    Id value;
    int dim, priority;
    Atoms atoms;
    bool open;
    std::uint32_t asked;
  };

  std::deque<CutRule> rules;
  std::vector<Node> nodes;  // in the order of the program, what is nested in its place
  std::vector<Id> ends;
  std::deque<Scope> scopes;
  std::vector<DraftTable::Id> drafts;  // by value, at the start
  std::vector<Asked> asked;
  std::vector<Hidden> hidden;
  std::vector<Id> outputs;  // of the program, as its callers see them
  /// An equation, or an operand of it.
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
  /// Operands that are not what their variable is, and the scopes of nested programs.
  std::unordered_map<Place, Id, HashOfPlace> read_as;
  std::unordered_map<Place, std::vector<std::uint32_t>, HashOfPlace> nested;
  // Nodes of a value: around[starts[value]] to around[starts[value + 1]].
  std::vector<std::uint32_t> starts, around;
};

/// `drafts` gets those that the graph names.
ValueGraph value_graph(const Program& program, const AtomMesh& mesh,
                       const PropagationOptions& options, DraftTable& drafts);

}  // namespace tessera::inline v0::spmd
