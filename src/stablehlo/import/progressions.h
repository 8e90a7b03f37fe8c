// Integers of a loop's program that grow by the same amount in every turn.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// start + step * turn, where turns count from 0. A number that stays the same has step 0.
struct Progression {
  std::int64_t start = 0, step = 0;

  bool is_constant() const { return step == 0; }
  /// None where it is no int64.
  std::optional<std::int64_t> at(std::int64_t turn) const;
  bool operator==(const Progression&) const = default;
};

/// Arrays of one dimension whose elements are a progression of their places, by variable.
using ProgressionArrays = std::unordered_map<Var, Progression>;

/// The progressions among the scalars of a program, by variable: integers, and booleans as 0 and 1.
class Progressions {
 public:
  /// `inputs` has an entry for each input; an element of one of the `arrays` at a progression is
  /// one. With `last`, the turns are 0 to `last`, and only values that do not wrap around in any of
  /// them are progressions. Without it the number of turns is unknown: every value is taken not to
  /// wrap around, which hold_until() checks later.
  Progressions(const Program& p, std::vector<std::optional<Progression>> inputs,
               std::optional<std::int64_t> last, ProgressionArrays arrays = {});

  const std::optional<Progression>& operator[](Var v) const { return all_[v]; }
  /// Whether the assumptions hold in the turns 0 to `last`.
  bool hold_until(std::int64_t last) const;

 private:
  std::optional<Progression> result_of(const Program& p, const Equation& e) const;
  std::optional<Progression> element_of(const Program& p, const Equation& slice) const;
  /// The least and the greatest sign of a - b in any turn.
  std::optional<std::pair<int, int>> signs(const Progression& a, const Progression& b) const;

  std::vector<std::optional<Progression>> all_;
  std::optional<std::int64_t> last_;
  ProgressionArrays arrays_;
  std::vector<std::pair<Progression, DType>> assumed_;
};

/// Whether x, of this dtype, does not wrap around in the turns 0 to `last`.
bool stays_within(const Progression& x, DType dtype, std::int64_t last);

/// The first turn in which a comparison of a and b, an equation's operands, does not hold. None
/// where the equation is no comparison, or where it holds for ever as long as no number wraps
/// around.
std::optional<std::int64_t> first_failure(const Equation& comparison, const Progression& a,
                                          const Progression& b);

}  // namespace tessera::inline v0::stablehlo
