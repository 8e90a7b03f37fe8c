// How the work of an equation is divided: which atoms cut which factors of its op's rule.
#pragma once

#include "ir/op.h"
#include "ops/fetch.h"
#include "spmd/placement.h"

#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::inline v0::spmd {

/// By factor, major first. Devices that differ only in other atoms do the same work.
using Division = std::vector<Atoms>;

/// An equation's factors as far as its work can be divided along them.
struct DivisionRule {
  struct Factor {
    std::int64_t size = 1;
    bool divides = false;  // may be cut, in operands and results alike
    bool reduces = false;  // where it is cut, results are partial
    bool batches = false;  // each value with dimensions has it, and nothing is to be done
    bool runs = false;     // where it is cut, parts send one another their totals
    bool settles = false;  // where it is cut, parts send one another what they would give
    Combiner combiner = Combiner::add;
  };
  struct Tensor {
    Type type;
    std::vector<std::vector<std::uint16_t>> dims;  // by dimension its factors, major first
  };

  /// An operand's dimension that is fetched where the factor is cut.
  struct Window {
    FactorRule::Window reads;
    std::size_t tensor;
    std::size_t dim;
  };
  /// How, in so many parts; absent: the operand has to be whole, and nothing is sent.
  using Fetching = std::optional<ops::FetchPlan>;

  DivisionRule(std::uint32_t number, const Program& program, const Equation& eqn);

  const Op* op;
  std::uint32_t number;  // of this rule
  std::vector<Factor> factors;
  std::vector<Tensor> tensors;  // operands, then results
  std::vector<Window> windows;
  std::size_t operands;
  Cost cost;  // undivided

  const Fetching& fetching(std::size_t window, std::int64_t parts) const;
  /// The window of the tensor's dimension; -1: it has none.
  int window_of(std::size_t tensor, std::size_t dim) const;

  /// Whether the results are a sum where the operands that `partial` marks are: linear in them
  /// together while the others are fixed. Where it says no it may still be so.
  bool sums(const std::vector<bool>& partial) const;

 private:
  mutable std::map<std::pair<std::size_t, std::int64_t>, Fetching> fetchings_;
};

/// Calls f(factor, atom) for the atoms of a placement's dimensions as the factors of the dimensions
/// have them: major first, while they divide what is left. What does not divide is left out.
template <class F>
void for_each_cut(const AtomMesh& mesh, const DivisionRule& rule, std::size_t tensor,
                  const Placement& placement, F&& f) {
  for (std::size_t d = 0; d < placement.dims.size(); ++d) {
    const std::vector<std::uint16_t>& factors = rule.tensors[tensor].dims[d];
    if (factors.empty()) continue;
    std::size_t k = 0;
    std::int64_t left = rule.factors[factors[0]].size;
    for (Atom a : placement.dims[d]) {
      while (left == 1 && k + 1 < factors.size()) left = rule.factors[factors[++k]].size;
      if (left % mesh.size(a) != 0) break;
      left /= mesh.size(a);
      f(factors[k], a);
    }
  }
}

/// How the tensor lies where the work is divided so; partial results are not told.
Placement part_of(const AtomMesh& mesh, const DivisionRule& rule, std::size_t tensor,
                  const Division& division);

/// Atoms divide the factors, parts of all tensors are blocks, and there is one way at most in which
/// results are partial.
bool fits(const AtomMesh& mesh, const DivisionRule& rule, const Division& division);

/// The rules of equations, each built once.
class DivisionRules {
 public:
  const DivisionRule& of(const Program& program, const Equation& eqn);

 private:
  struct Known {
    const Program* program;
    const Equation* eqn;
    const DivisionRule* rule;
  };
  std::deque<DivisionRule> rules_;
  std::unordered_multimap<std::size_t, Known> known_;
};

}  // namespace tessera::inline v0::spmd
