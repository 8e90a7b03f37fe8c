// A factor rule in the form used by propagation: restricted to values that have dimensions, with
// the direction in which axes propagate along each factor at each rung of the ladder.
#pragma once

#include "ir/factor_rule.h"
#include "ir/type.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

/// Which of an equation's values receive axes along a factor from the others. `all` includes
/// propagation from operand to operand.
enum class Toward : std::uint8_t { none, results, operands, all };

class CutRule {
 public:
  struct Factor {
    std::int64_t size = 1;
    bool plain = true;     // has no mark
    bool works = false;    // partitioning it requires communication: a reduction or data movement
    bool blocked = false;  // axes never propagate along it
  };
  struct Dim {
    std::int64_t extent = 1;
    std::vector<std::uint16_t> factors;  // major to minor
  };
  struct Tensor {
    std::vector<Dim> dims;
    std::int64_t elements = 1;
  };
  /// The position of a factor in a tensor.
  struct Place {
    std::int16_t dim = -1;    // -1: the tensor does not have the factor
    bool minor = true;        // it is the last factor of its dimension
    std::int64_t before = 1;  // product of the factors before it
    explicit operator bool() const { return dim >= 0; }
  };
  /// The rungs of the ladder, in order: (1) equations that pass their operands on and are their
  /// only readers; (2) all equations that pass operands on; (3) plain factors of any equation; (4)
  /// all factors; (5) also forwards along repetitions.
  static constexpr int rungs = 5;

  CutRule(const FactorRule& rule, std::span<const Shape> inputs, std::span<const Shape> outputs);
  /// The rule for values that are identical, such as operands and results of control flow. Axes
  /// propagate in direction `toward` at every rung.
  static CutRule edge(const FactorRule& rule, std::span<const Shape> inputs,
                      std::span<const Shape> outputs, Toward toward);

  /// Operands with dimensions, followed by results.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::size_t operands() const { return operands_; }
  const std::vector<Factor>& factors() const { return factors_; }
  const Place& place(std::size_t tensor, std::size_t factor) const {
    return places_[tensor * factors_.size() + factor];
  }
  /// Whether the rule never propagates an axis from one value to another.
  bool idle() const { return idle_; }
  /// Whether all values have the same dimensions.
  bool alike() const { return alike_; }

  /// A number for the directions of all factors at a rung. 0 means that no factor propagates; equal
  /// directions have equal numbers.
  int mode(int rung, bool read_once) const {
    return rung == 1 && !read_once ? 0 : mode_at_[static_cast<std::size_t>(rung) - 1];
  }
  Toward toward(int mode, std::size_t factor) const {
    return modes_[static_cast<std::size_t>(mode)][factor];
  }

 private:
  CutRule(const FactorRule& rule, std::span<const Shape> inputs, std::span<const Shape> outputs,
          Toward edge);
  void add_tensors(const std::vector<FactorRule::Dims>& dims, std::span<const Shape> shapes);
  Toward early() const;
  void make_modes(Toward edge);

  std::vector<Factor> factors_;
  std::vector<Tensor> tensors_;
  std::size_t operands_ = 0;
  std::vector<Place> places_;
  std::vector<std::vector<Toward>> modes_;
  std::array<int, rungs> mode_at_{};
  bool idle_ = true, alike_ = true;
};

}  // namespace tessera::inline v0::spmd
