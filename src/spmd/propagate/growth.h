// One propagation step: extends the sharding of an equation's values by axes of its other values.
#pragma once

#include "spmd/propagate/projection.h"

#include <cstdint>
#include <vector>

namespace tessera::inline v0::spmd {

/// `basic`: extend a factor only by axes that all its values agree on, stopping at the first axis
/// that another factor of the equation already uses or that does not fit some value. `aggressive`:
/// consider each value by itself. If several factors compete for an axis, the first one gets it;
/// factors are ordered by the size of the largest value that propagates them or, if all values have
/// the same dimensions, by how many parts the factor is cut into.
enum class Strategy : std::uint8_t { basic, aggressive };

/// Reuses its memory from one equation to the next.
class Growth {
 public:
  explicit Growth(const AtomMesh& mesh) : projection_(mesh) {}

  /// Runs one step. Axes are only appended to those already present. Returns whether any value
  /// grew; `after` then has the new drafts of those values.
  bool apply(const CutRule& rule, int mode, Strategy strategy,
             std::span<const Draft* const> before);
  struct Grown {
    std::size_t tensor;
    Draft draft;
  };
  const std::vector<Grown>& after() const { return after_; }

  /// The longest axis list compatible with every value that has the factor: each value's axes are a
  /// prefix of it, or it is a prefix of theirs. Only values that propagate in direction `toward`
  /// can lengthen it.
  static Atoms common(const Projection& p, std::size_t factor, Toward toward);

 private:
  void basic(int mode);
  void aggressive(int mode);
  void extend(std::size_t tensor, std::size_t factor, const Atoms& wanted, std::size_t limit);

  Projection projection_;
  std::vector<Grown> after_;
  struct Claim {
    std::size_t factor;
    Atoms axes;
    std::int64_t weight;
    std::size_t first;  // the first value that has it
  };
  std::vector<Claim> claims_;
};

}  // namespace tessera::inline v0::spmd
