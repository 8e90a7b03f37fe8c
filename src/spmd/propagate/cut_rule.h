// A factor rule as propagation reads it: of the values that have dimensions alone, and with the
// directions in which axes go along each factor at each step of the ladder.
#pragma once

#include "ir/factor_rule.h"
#include "ir/type.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

/// To which of an equation's values axes go along a factor, from the others; `all` goes from
/// operand to operand too.
enum class Toward : std::uint8_t { none, results, operands, all };

class CutRule {
 public:
  struct Factor {
    std::int64_t size = 1;
    bool plain = true;     // no mark
    bool works = false;    // where it is cut, there is something to do: to combine, or to move
    bool blocked = false;  // axes never go along it
  };
  struct Dim {
    std::int64_t extent = 1;
    std::vector<std::uint16_t> factors;  // major first
  };
  struct Tensor {
    std::vector<Dim> dims;
    std::int64_t elements = 1;
  };
  /// Where a factor is in a tensor.
  struct Place {
    std::int16_t dim = -1;    // -1: it is not there
    bool minor = true;        // the last of its dimension
    std::int64_t before = 1;  // what the factors before it multiply to
    explicit operator bool() const { return dim >= 0; }
  };
  /// The steps of the ladder: along equations that hand their operands on, where nobody else reads
  /// these; along all such; plain factors of any equation; all factors; repetitions forwards too.
  static constexpr int rungs = 5;

  CutRule(const FactorRule& rule, std::span<const Shape> inputs, std::span<const Shape> outputs);
  /// Of values that are one another, as operands and results of control flow are: axes go in this
  /// direction at every step.
  static CutRule edge(const FactorRule& rule, std::span<const Shape> inputs,
                      std::span<const Shape> outputs, Toward toward);

  /// Operands with dimensions, then results.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::size_t operands() const { return operands_; }
  const std::vector<Factor>& factors() const { return factors_; }
  const Place& place(std::size_t tensor, std::size_t factor) const {
    return places_[tensor * factors_.size() + factor];
  }
  /// No axis goes from one value to another by it.
  bool idle() const { return idle_; }
  /// All values have the same dimensions.
  bool alike() const { return alike_; }

  /// Directions, by number: 0 is none at all; equal ones have one number.
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
