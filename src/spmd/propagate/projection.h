// The axes that cut the dimensions of an equation's values, dealt out to the factors of its rule,
// and back.
#pragma once

#include "spmd/place/draft.h"
#include "spmd/propagate/cut_rule.h"

#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

/// Of a cut that nobody asked for: more than an eighth of what there is would be filling, or a
/// device would have no elements.
bool is_wasteful(std::int64_t extent, std::int64_t parts);

/// A dimension's axes go to its factors major first: a factor takes axes while they divide what is
/// left of it, and the last factor takes all that come, evenly or not. Where one does not divide,
/// it and those behind it are overflow: they stay on the dimension and go nowhere. Keeps its memory
/// from one equation to the next.
class Projection {
 public:
  explicit Projection(const AtomMesh& mesh) : mesh_(mesh) {}

  void read(const CutRule& rule, std::span<const Draft* const> drafts);

  const CutRule& rule() const { return *rule_; }
  /// Axes that the tensor has along the factor; none where it lacks the factor.
  const Atoms& axes(std::size_t tensor, std::size_t factor) const {
    return axes_[tensor * factors_ + factor];
  }
  /// Of the tensor, by whatever factor or none.
  AtomSet cut(std::size_t tensor) const { return cut_[tensor]; }
  bool overflows(std::size_t tensor, int dim) const { return overflow_[tensor] >> dim & 1; }
  std::int64_t size(const Atoms& atoms) const { return mesh_.size(atoms); }
  /// How many of the first axes of `wanted`, which begins with those that the tensor has along the
  /// factor, it may have: none are added where the dimension is closed, none that is barred, and
  /// none for which the factor has no room, and none that leaves a device without elements, or with
  /// much that is none, unless another value of that extent is cut so.
  std::size_t room(std::size_t tensor, std::size_t factor, const Atoms& wanted) const;
  /// The factors before this one in its dimension have all their axes, so that what cuts this one
  /// makes blocks.
  bool begins(std::size_t tensor, std::size_t factor) const;
  /// The tensor has these axes along the factor. `taken`: they are in cut() from now on.
  void grow(std::size_t tensor, std::size_t factor, const Atoms& axes, bool taken);

  /// The axes of a dimension as its factors have them: one after the other up to the first factor
  /// that is not cut all the way, behind which blocks would be strided.
  Atoms back(std::size_t tensor, int dim) const;
  bool grew(std::size_t tensor) const { return grown_[tensor] != 0; }
  /// The tensor's draft with the axes that it was grown by; whether there are any more than before.
  bool write(std::size_t tensor, Draft& draft) const;

 private:
  bool is_cut_elsewhere(std::size_t tensor, std::size_t factor, const Atoms& wanted,
                        std::size_t count) const;

  const AtomMesh& mesh_;
  const CutRule* rule_ = nullptr;
  std::size_t factors_ = 0;
  std::vector<Atoms> axes_;
  std::vector<AtomSet> cut_;
  std::vector<const Draft*> drafts_;
  std::vector<std::uint64_t> overflow_, grown_;  // by tensor, dimensions
};

}  // namespace tessera::inline v0::spmd
