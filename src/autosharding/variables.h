// The decision variables of a search for specs: for each group of arguments, which dimension each
// axis shards.
#pragma once

#include "explain/question.h"
#include "spmd/place/placement.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::autosharding {

/// Arguments that are sharded alike, together with the results that carry them on.
struct Variable {
  std::string name;  // "args[0]/layers/*/w"
  Type type;         // of each argument
  std::vector<std::size_t> inputs, outputs;
  /// A spec that is fixed in advance.
  std::optional<spmd::RequestedSpec> settled;
  std::int64_t bytes() const { return type.bytes() * static_cast<std::int64_t>(inputs.size()); }
};

/// For each variable and axis, the dimension that the axis shards; -1: none. Several axes on one
/// dimension are in mesh order.
using Choice = std::vector<std::int8_t>;

class Space {
 public:
  /// `settled` is indexed by input of the question's program; inputs past its end are not settled.
  /// Only the first `arguments` inputs may be sharded. If there would be very many variables,
  /// repeated layers share theirs.
  Space(const explain::Question& question, const MeshRef& mesh,
        const std::vector<std::optional<spmd::RequestedSpec>>& settled, std::size_t arguments);

  const spmd::AtomMesh& atoms() const { return atoms_; }
  const std::vector<Variable>& variables() const { return variables_; }
  /// The mesh axes with more than one device. An axis of a choice is an index into this list.
  const std::vector<int>& axes() const { return axes_; }
  std::int64_t devices(std::size_t axis) const {
    return atoms_.mesh().sizes[static_cast<std::size_t>(axes_[axis])];
  }
  const std::string& name(std::size_t axis) const {
    return atoms_.mesh().axes[static_cast<std::size_t>(axes_[axis])];
  }
  /// The variable of an input or output; -1: none.
  int variable_of_input(std::size_t i) const { return of_input_[i]; }
  int variable_of_output(std::size_t i) const { return of_output_[i]; }

  Choice whole() const { return Choice(variables_.size() * axes_.size(), -1); }
  std::int8_t& at(Choice& c, std::size_t variable, std::size_t axis) const {
    return c[variable * axes_.size() + axis];
  }
  std::int8_t at(const Choice& c, std::size_t variable, std::size_t axis) const {
    return c[variable * axes_.size() + axis];
  }
  /// Whether the axes divide the dimensions of the variable.
  bool divides(const Choice& c, std::size_t variable) const;
  /// Puts the axis on the dimension if it divides; returns whether the axis is on it afterwards.
  bool put(Choice& c, std::size_t variable, std::size_t axis, int dim) const;
  /// All ways to shard a variable, starting with the unsharded one.
  std::vector<Choice> options(std::size_t variable) const;
  /// The number of choices over all variables.
  double choices() const;

  spmd::Placement placement(const Choice& c, std::size_t variable) const;
  spmd::RequestedSpec wanted(const Choice& c, std::size_t variable) const;

 private:
  /// `layers`: also ties arguments whose paths differ only in numbers.
  void tie_arguments(const explain::Question& question, std::size_t arguments,
                     const std::vector<std::optional<spmd::RequestedSpec>>& settled, bool layers);
  void tie_results(const explain::Question& question);

  spmd::AtomMesh atoms_;
  std::vector<int> axes_;
  std::vector<Variable> variables_;
  std::vector<int> of_input_, of_output_;
};

}  // namespace tessera::inline v0::autosharding
