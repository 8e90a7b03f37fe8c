// What a search for specs decides: for groups of arguments, which dimension each axis cuts.
#pragma once

#include "explain/question.h"
#include "spmd/place/placement.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::autosharding {

/// Arguments that are cut alike, with the results that carry them on.
struct Variable {
  std::string name;  // "args[0]/layers/*/w"
  Type type;         // of one
  std::vector<std::size_t> inputs, outputs;
  /// How it lies in any case.
  std::optional<spmd::RequestedSpec> settled;
  std::int64_t bytes() const { return type.bytes() * static_cast<std::int64_t>(inputs.size()); }
};

/// By variable and axis, the dimension that the axis cuts; -1: none. Axes that cut one dimension
/// are in the order of the mesh.
using Choice = std::vector<std::int8_t>;

class Space {
 public:
  /// `settled` is by input of the question's program; none past the end. `arguments` is how many of
  /// the inputs may be cut, the first ones. Repeated layers are one where there would be very many
  /// variables.
  Space(const explain::Question& question, const MeshRef& mesh,
        const std::vector<std::optional<spmd::RequestedSpec>>& settled, std::size_t arguments);

  const spmd::AtomMesh& atoms() const { return atoms_; }
  const std::vector<Variable>& variables() const { return variables_; }
  /// Of the mesh, those with more than one device; an axis of a choice is an index into them.
  const std::vector<int>& axes() const { return axes_; }
  std::int64_t devices(std::size_t axis) const {
    return atoms_.mesh().sizes[static_cast<std::size_t>(axes_[axis])];
  }
  const std::string& name(std::size_t axis) const {
    return atoms_.mesh().axes[static_cast<std::size_t>(axes_[axis])];
  }
  /// Of an input, and of an output; -1: of none.
  int variable_of_input(std::size_t i) const { return of_input_[i]; }
  int variable_of_output(std::size_t i) const { return of_output_[i]; }

  Choice whole() const { return Choice(variables_.size() * axes_.size(), -1); }
  std::int8_t& at(Choice& c, std::size_t variable, std::size_t axis) const {
    return c[variable * axes_.size() + axis];
  }
  std::int8_t at(const Choice& c, std::size_t variable, std::size_t axis) const {
    return c[variable * axes_.size() + axis];
  }
  /// Whether the axes divide the dimensions of a variable.
  bool divides(const Choice& c, std::size_t variable) const;
  /// Puts the axis there if it divides; says whether it lies there now.
  bool put(Choice& c, std::size_t variable, std::size_t axis, int dim) const;
  /// All ways to cut a variable, whole first.
  std::vector<Choice> options(std::size_t variable) const;
  /// Of all variables.
  double choices() const;

  spmd::Placement placement(const Choice& c, std::size_t variable) const;
  spmd::RequestedSpec wanted(const Choice& c, std::size_t variable) const;

 private:
  /// `layers`: those whose paths differ in numbers only, too.
  void tie_arguments(const explain::Question& question, std::size_t arguments,
                     const std::vector<std::optional<spmd::RequestedSpec>>& settled, bool layers);
  void tie_results(const explain::Question& question);

  spmd::AtomMesh atoms_;
  std::vector<int> axes_;
  std::vector<Variable> variables_;
  std::vector<int> of_input_, of_output_;
};

}  // namespace tessera::inline v0::autosharding
