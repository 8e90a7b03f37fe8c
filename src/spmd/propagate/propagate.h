// Infers the placement of every value of a program on a mesh from the shardings given for its
// inputs and outputs and the constraints in the program.
#pragma once

#include "ir/program.h"
#include "spmd/place/placement.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::spmd {

/// The placement that the user requests for an input or an output.
struct RequestedPlacement {
  Placement placement;
  std::vector<bool> open = {};     // by dimension: may be partitioned further; empty: none may
  std::vector<int> priority = {};  // by dimension: 0 propagates first; empty: all are 0
  AtomSet replicated = {};         // atoms that never partition it
};

class Propagation;

struct PropagationOptions {
  /// One entry per input and output. Entries that are missing or absent leave the value free.
  std::vector<std::optional<RequestedPlacement>> inputs = {}, outputs = {};
  /// Groups of variables that get the same sharding in the dimensions that they have in common.
  std::vector<std::vector<Var>> alike = {};
  /// Whether inputs and outputs, too, may be cut into unequal parts and by sub-axes.
  bool allow_uneven = false;
  /// A result for the same program, mesh and options to continue from.
  const Propagation* from = nullptr;
};

/// Why an atom partitions a dimension: where it was requested and the path of its propagation.
struct Origin {
  struct Step {
    std::size_t scope,
        equation;             // as in Propagation; equations.size(): a result of the scope
    int rung = 0;             // of the ladder, from 1
    bool aggressive = false;  // it won against another axis
  };
  enum class Kind { input, output, constraint, region } kind = Kind::input;
  std::size_t index = 0;  // of the input or output, or of the equation in `scope`
  std::size_t scope = 0;
  std::vector<Step> steps;
};

/// Programs are identified by where they are run. Scope 0 is the program itself, and each program
/// that an equation's flow runs (ir/flow.h) has its own scope there. The outputs of a scope are the
/// operands of a pseudo-equation with number `equations.size()`. Keeps the nested programs alive,
/// but not the program itself, which must outlive this object.
class Propagation {
 public:
  struct State;
  explicit Propagation(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::size_t scopes() const;
  const Program& program(std::size_t scope) const;
  /// Atoms that may not partition anything in the scope: those of the enclosing regions.
  AtomSet barred(std::size_t scope) const;
  /// The scopes of the programs that the equation runs, in the flow's order; empty if it runs none.
  std::span<const std::uint32_t> nested(std::size_t scope, std::size_t equation) const;

  /// The placement of a variable where it is defined.
  const Placement& of(Var v, std::size_t scope = 0) const;
  /// The placement of operand k as the equation reads it. It differs from the variable's placement
  /// for a constant that each reader materialises itself, and after a constraint on a loop-carried
  /// value.
  const Placement& operand(std::size_t scope, std::size_t equation, std::size_t k) const;
  /// The placement of a program input, as its callers see it. It is trimmed to whole axes that
  /// divide the dimension, unless `allow_uneven` is set; axes that were requested are always kept.
  const Placement& input(std::size_t i) const;
  const Placement& output(std::size_t i) const;
  /// Equal placements have the same number.
  std::uint32_t number(Var v, std::size_t scope = 0) const;
  std::uint32_t operand_number(std::size_t scope, std::size_t equation, std::size_t k) const;

  /// Absent if the atom does not partition the dimension.
  std::optional<Origin> why(Var v, int dim, Atom atom, std::size_t scope = 0) const;
  /// For example "input 0, through add (rung 1), dot_general (rung 4)". If there are more than
  /// eight steps, only the first and last three are shown: "exp (rung 2), 12 more, tanh (rung 2)".
  std::string to_string(const Origin& origin) const;

  /// Statistics: value changes over all steps, visited equations, questions that missed the memo,
  /// and nodes of the graph.
  struct Effort {
    std::size_t changes = 0, visits = 0, questions = 0, nodes = 0;
  };
  const Effort& effort() const;
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// Deterministic. Axes are only ever appended to those that were requested, following the ladder of
/// CutRule and the order of Strategy, once for each priority. If nothing is requested, everything
/// is replicated.
Propagation propagate(const Program& program, const AtomMesh& mesh,
                      const PropagationOptions& options = {});

}  // namespace tessera::inline v0::spmd
