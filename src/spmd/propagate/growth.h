// How the axes of some of an equation's values come to the others, once.
#pragma once

#include "spmd/propagate/projection.h"

#include <cstdint>
#include <vector>

namespace tessera::inline v0::spmd {

/// `basic` gives a factor what all its values agree on and nobody disputes: it stops at the first
/// axis that another factor has anywhere in the equation, or that some value has no room for.
/// `aggressive` asks each value alone, and where factors want one axis the first gets it: in the
/// order of the largest value that brings the factor along, or, where all values are alike, of how
/// finely the factor is cut.
enum class Strategy : std::uint8_t { basic, aggressive };

/// Keeps its memory from one equation to the next.
class Growth {
 public:
  explicit Growth(const AtomMesh& mesh) : projection_(mesh) {}

  /// Axes are only added, behind those that are there. Whether there are any: then `after` has
  /// drafts of the values that got some.
  bool apply(const CutRule& rule, int mode, Strategy strategy,
             std::span<const Draft* const> before);
  struct Grown {
    std::size_t tensor;
    Draft draft;
  };
  const std::vector<Grown>& after() const { return after_; }

  /// The longest list of axes that those of every value that has the factor begin with, or are the
  /// beginning of; as far as a value has it that gives in this direction.
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
    std::size_t first;  // value that has it
  };
  std::vector<Claim> claims_;
};

}  // namespace tessera::inline v0::spmd
