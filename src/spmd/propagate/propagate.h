// Where every value of a program lies on a mesh, from what is said of its inputs and outputs and
// what the program itself asks.
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

/// What is asked of an input or an output.
struct RequestedPlacement {
  Placement placement;
  std::vector<bool> open = {};     // by dimension: others may cut it too; empty: none is open
  std::vector<int> priority = {};  // by dimension: 0 goes before 1; empty: all are 0
  AtomSet replicated = {};         // atoms that never cut it
};

class Propagation;

struct PropagationOptions {
  /// One an input and output; those behind the end, and those that are absent, are free.
  std::vector<std::optional<RequestedPlacement>> inputs = {}, outputs = {};
  /// Variables of the program that lie alike, as far as their dimensions are the same.
  std::vector<std::vector<Var>> alike = {};
  /// Inputs and outputs too may be cut into unequal parts, and by parts of axes.
  bool allow_uneven = false;
  /// A result for the same program, mesh and options, to go on from.
  const Propagation* from = nullptr;
};

/// Why an atom cuts a dimension: the way that it came, from where it was asked for.
struct Origin {
  struct Step {
    std::size_t scope,
        equation;             // as in Propagation; the number of equations: a result of the scope
    int rung = 0;             // of the ladder, from 1
    bool aggressive = false;  // it was preferred to another
  };
  enum class Kind { input, output, constraint, region } kind = Kind::input;
  std::size_t index = 0;  // of the input or output, or the equation in `scope`
  std::size_t scope = 0;
  std::vector<Step> steps;
};

/// Programs are told apart by where they are run: scope 0 is the program itself, and each program
/// of an equation's flow (ir/flow.h) has a scope of its own there. Equation `equations.size()` of a
/// scope are its outputs, as far as operands go. Keeps nested programs, and not the program itself,
/// which lives as long.
class Propagation {
 public:
  struct State;
  explicit Propagation(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::size_t scopes() const;
  const Program& program(std::size_t scope) const;
  /// Atoms that cut nothing there: those of the regions around it.
  AtomSet barred(std::size_t scope) const;
  /// Of the programs that the equation runs, in the flow's order; none where it runs none.
  std::span<const std::uint32_t> nested(std::size_t scope, std::size_t equation) const;

  /// Of a variable where it is defined.
  const Placement& of(Var v, std::size_t scope = 0) const;
  /// As an equation reads its operand k. It is the variable's, but where a constant is made for
  /// each reader alone, and behind a constraint on what a loop carries.
  const Placement& operand(std::size_t scope, std::size_t equation, std::size_t k) const;
  /// Of the program, as its callers see it. Trimmed to whole axes that divide, unless
  /// `allow_uneven` was given; what was asked for is there in any case.
  const Placement& input(std::size_t i) const;
  const Placement& output(std::size_t i) const;
  /// Equal placements have one number.
  std::uint32_t number(Var v, std::size_t scope = 0) const;
  std::uint32_t operand_number(std::size_t scope, std::size_t equation, std::size_t k) const;

  /// Nothing where the atom does not cut the dimension.
  std::optional<Origin> why(Var v, int dim, Atom atom, std::size_t scope = 0) const;
  /// "input 0, through add (rung 1), dot_general (rung 4)"; of more than eight steps the first and
  /// last three, "exp (rung 2), 12 more, tanh (rung 2)".
  std::string to_string(const Origin& origin) const;

  /// Values that were changed, over all steps; equations whose values were looked at; questions
  /// that were answered anew.
  struct Effort {
    std::size_t changes = 0, visits = 0, questions = 0, nodes = 0;
  };
  const Effort& effort() const;
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// Deterministic. Axes are only added to what is asked for, each time behind those that are there:
/// by the ladder of CutRule and in the order of Strategy, all of it once for each priority. A
/// program in which nothing is asked for comes out replicated.
Propagation propagate(const Program& program, const AtomMesh& mesh,
                      const PropagationOptions& options = {});

}  // namespace tessera::inline v0::spmd
