// A division of an equation's work: the atoms that partition each factor of its op's rule.
#pragma once

#include "base/numbered.h"
#include "ir/op.h"
#include "ops/fetch.h"
#include "spmd/place/placement.h"

#include <map>
#include <utility>
#include <vector>

namespace tessera::inline v0::spmd {

/// For each factor, the atoms that divide it, from major to minor. Devices that differ only along
/// other atoms do the same work.
using Division = std::vector<Atoms>;

/// The factors of an equation, restricted to those along which its work can be divided.
struct DivisionRule {
  struct Factor {
    std::int64_t size = 1;
    bool divides = false;  // may be cut, in operands and results alike
    bool evenly = false;   // if cut, all parts must have equal length
    bool reduces = false;  // if cut, results are partial
    bool meets = false;    // if cut, padding affects the results and must be neutral
    bool batches = false;  // all values with dimensions have it, and cutting it costs nothing
    bool runs = false;     // if cut, parts exchange their totals
    bool orders = false;   // if cut, parts exchange all elements (ops/movement/sort_parts.cc)
    bool settles = false;  // if cut, parts exchange their candidate results
    Combiner combiner = Combiner::add;
  };
  struct Tensor {
    Type type;
    std::vector<std::vector<std::uint16_t>> dims;  // by dimension: its factors, major to minor
  };

  /// An operand dimension of which a part fetches neighbouring elements if the factor is cut.
  struct Window {
    FactorRule::Window reads;
    std::size_t tensor;
    std::size_t dim;
  };
  /// An operand and a result that hold the same elements in the same order, as for reshapes. The
  /// factor begins a dimension of each. If it is cut into parts that are not blocks of both, the
  /// operand's elements are fetched. A row is the elements under one index of the factor's
  /// dimension.
  struct Regrouping {
    std::uint16_t factor;
    std::size_t dim;                        // of operand 0
    std::int64_t in, in_row, out, out_row;  // extents of the dimensions, and of their rows
  };
  /// The plan for fetching with a given number of parts. Absent: the operand has to be replicated,
  /// and nothing is sent.
  using Fetching = std::optional<ops::FetchPlan>;

  DivisionRule(std::uint32_t number, const Program& program, const Equation& eqn);

  const Op* op;
  std::uint32_t number;  // identifies this rule
  std::vector<Factor> factors;
  std::vector<Tensor> tensors;  // operands, then results
  std::vector<Window> windows;
  std::vector<Regrouping> regroupings;
  std::size_t operands;
  Cost cost;  // of the undivided equation

  const Fetching& fetching(std::size_t window, std::int64_t parts) const;
  const Fetching& regrouped(std::size_t regrouping, std::int64_t parts) const;
  /// The regrouping through which the operand's dimension is fetched with that many parts; -1:
  /// none.
  int regrouping_of(std::size_t tensor, std::size_t dim, std::int64_t parts) const;
  /// The window of the tensor's dimension; -1: none.
  int window_of(std::size_t tensor, std::size_t dim) const;

  /// Whether the results are a sum if the operands marked in `partial` are, that is, whether the op
  /// is jointly linear in them with the others fixed. May return false for such an op.
  bool sums(const std::vector<bool>& partial) const;

 private:
  void find_regroupings();

  mutable std::map<std::pair<std::size_t, std::int64_t>, Fetching> fetchings_, regrouped_;
};

/// Whether factor k of a dimension may be cut into `parts`, possibly uneven, while the factors
/// after it are not cut: the factors before it are 1, and the parts are blocks of the dimension or
/// are fetched.
bool may_be_uneven(const DivisionRule& rule, const std::vector<std::uint16_t>& dim, std::size_t k,
                   std::int64_t parts);

/// Calls f(factor, atom) for the atoms of a placement's dimensions, assigned to the factors major
/// to minor. An atom is assigned to a factor if it divides what is left of it, or if it cuts
/// unevenly a factor that makes blocks of the dimension. Other atoms are skipped.
template <class F>
void for_each_cut(const AtomMesh& mesh, const DivisionRule& rule, std::size_t tensor,
                  const Placement& placement, F&& f) {
  for (std::size_t d = 0; d < placement.dims.size(); ++d) {
    const std::vector<std::uint16_t>& factors = rule.tensors[tensor].dims[d];
    if (factors.empty()) continue;
    std::size_t k = 0;
    std::int64_t left = rule.factors[factors[0]].size, parts = 1;
    bool even = true;
    for (Atom a : placement.dims[d]) {
      if (left == 1 && k + 1 < factors.size()) parts = 1;
      while (left == 1 && k + 1 < factors.size()) left = rule.factors[factors[++k]].size;
      parts *= mesh.size(a);
      even = even && left % mesh.size(a) == 0;
      if (!even && !may_be_uneven(rule, factors, k, parts)) break;
      if (even) left /= mesh.size(a);
      f(factors[k], a);
    }
  }
}

/// The tensor's placement under this division; partial results are not included.
Placement part_of(const AtomMesh& mesh, const DivisionRule& rule, std::size_t tensor,
                  const Division& division);

/// Whether every tensor's parts are blocks, uneven parts occur only where the equation handles
/// them, and the results are partial in at most one way.
bool fits(const AtomMesh& mesh, const DivisionRule& rule, const Division& division);

/// The factor by which padding increases the work.
double padding_of(const AtomMesh& mesh, const DivisionRule& rule, const Division& division);

/// The rules of equations, each built once.
class DivisionRules {
 public:
  const DivisionRule& of(const Program& program, const Equation& eqn);

 private:
  struct Known {
    const Program* program;
    const Equation* eqn;
    DivisionRule rule;
  };
  Numbered<Known> known_;
};

}  // namespace tessera::inline v0::spmd
