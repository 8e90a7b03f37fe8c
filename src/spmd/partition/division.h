// How the work of an equation is divided: which atoms cut which factors of its op's rule.
#pragma once

#include "ir/op.h"
#include "ops/fetch.h"
#include "spmd/place/placement.h"

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
    bool evenly = false;   // and then into parts of one length only
    bool reduces = false;  // where it is cut, results are partial
    bool meets = false;    // where it is cut, each element counts: none may be behind the end
    bool batches = false;  // each value with dimensions has it, and nothing is to be done
    bool runs = false;     // where it is cut, parts send one another their totals
    bool orders =
        false;  // where it is cut, parts exchange all elements (ops/movement/sort_parts.cc)
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
  /// An operand and a result that hold the same elements in the same order, as reshapes do: where the
  /// factor, which begins a dimension of each, is cut into parts that are not blocks of both, they
  /// are fetched. A row is what one element of the factor's dimension stands for.
  struct Regrouping {
    std::uint16_t factor;
    std::size_t dim;                        // of operand 0
    std::int64_t in, in_row, out, out_row;  // extents of the dimensions
  };
  /// How, in so many parts; absent: the operand has to be whole, and nothing is sent.
  using Fetching = std::optional<ops::FetchPlan>;

  DivisionRule(std::uint32_t number, const Program& program, const Equation& eqn);

  const Op* op;
  std::uint32_t number;  // of this rule
  std::vector<Factor> factors;
  std::vector<Tensor> tensors;  // operands, then results
  std::vector<Window> windows;
  std::vector<Regrouping> regroupings;
  std::size_t operands;
  Cost cost;  // undivided

  const Fetching& fetching(std::size_t window, std::int64_t parts) const;
  const Fetching& regrouped(std::size_t regrouping, std::int64_t parts) const;
  /// Of the operand's dimension, where it is fetched in so many parts; -1: none is.
  int regrouping_of(std::size_t tensor, std::size_t dim, std::int64_t parts) const;
  /// The window of the tensor's dimension; -1: it has none.
  int window_of(std::size_t tensor, std::size_t dim) const;

  /// Whether the results are a sum where the operands that `partial` marks are: linear in them
  /// together while the others are fixed. Where it says no it may still be so.
  bool sums(const std::vector<bool>& partial) const;

 private:
  void find_regroupings();

  mutable std::map<std::pair<std::size_t, std::int64_t>, Fetching> fetchings_, regrouped_;
};

/// Whether this factor of a dimension may be cut into so many parts, uneven ones maybe, while those
/// behind it are not cut: the factors before it are 1, and the parts are blocks of the dimension, or
/// are fetched.
bool may_be_uneven(const DivisionRule& rule, const std::vector<std::uint16_t>& dim, std::size_t k,
                   std::int64_t parts);

/// Calls f(factor, atom) for the atoms of a placement's dimensions as the factors of the dimensions
/// have them: major first, while they divide what is left, or cut a factor that makes blocks of the
/// dimension unevenly. What does neither is left out.
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

/// How the tensor lies where the work is divided so; partial results are not told.
Placement part_of(const AtomMesh& mesh, const DivisionRule& rule, std::size_t tensor,
                  const Division& division);

/// Parts of all tensors are blocks, uneven ones only where the equation gives what it should of
/// them, and there is one way at most in which results are partial.
bool fits(const AtomMesh& mesh, const DivisionRule& rule, const Division& division);

/// How many times as much is to be done as where all parts were full.
double padding_of(const AtomMesh& mesh, const DivisionRule& rule, const Division& division);

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
