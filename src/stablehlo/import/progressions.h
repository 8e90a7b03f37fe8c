// Finds integers in a loop's program that grow by the same amount in every iteration.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// start + step * turn, where iterations (turns) count from 0. A constant has step 0.
struct Progression {
  std::int64_t start = 0, step = 0;

  bool is_constant() const { return step == 0; }
  /// Nothing if the value does not fit in int64.
  std::optional<std::int64_t> at(std::int64_t turn) const;
  bool operator==(const Progression&) const = default;
};

/// One-dimensional arrays whose elements are an arithmetic progression of their index, by variable.
using ProgressionArrays = std::unordered_map<Var, Progression>;

/// The scalars of a program that are progressions, by variable: integers, and booleans as 0 and 1.
class Progressions {
 public:
  /// `inputs` has an entry for each input; an element of one of the `arrays` whose index is a
  /// progression is a progression, too. If `last` is given, the iterations are 0 to `last`, and a
  /// value that wraps around in one of them is not a progression. Otherwise the number of
  /// iterations is unknown: values are assumed not to wrap around, and hold_until() checks that
  /// later.
  Progressions(const Program& p, std::vector<std::optional<Progression>> inputs,
               std::optional<std::int64_t> last, ProgressionArrays arrays = {});

  const std::optional<Progression>& operator[](Var v) const { return all_[v]; }
  /// Whether these assumptions hold in iterations 0 to `last`.
  bool hold_until(std::int64_t last) const;

 private:
  std::optional<Progression> result_of(const Program& p, const Equation& e) const;
  std::optional<Progression> element_of(const Program& p, const Equation& slice) const;
  /// The smallest and the largest sign of a - b over all iterations.
  std::optional<std::pair<int, int>> signs(const Progression& a, const Progression& b) const;

  std::vector<std::optional<Progression>> all_;
  std::optional<std::int64_t> last_;
  ProgressionArrays arrays_;
  std::vector<std::pair<Progression, DType>> assumed_;
};

/// Whether x, which has this dtype, does not wrap around in iterations 0 to `last`.
bool stays_within(const Progression& x, DType dtype, std::int64_t last);

/// The first iteration in which a comparison of its operands a and b is false. Returns nothing if
/// the equation is not a comparison, or if it stays true as long as no number wraps around.
std::optional<std::int64_t> first_failure(const Equation& comparison, const Progression& a,
                                          const Progression& b);

}  // namespace tessera::inline v0::stablehlo
