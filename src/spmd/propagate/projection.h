// Projects the axes that partition the dimensions of an equation's values onto the factors of its
// rule, and back.
#pragma once

#include "spmd/place/draft.h"
#include "spmd/propagate/cut_rule.h"

#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

/// Whether cutting `extent` into `parts` would waste too much: more than 1/8 padding, or an empty
/// device. Asked only for cuts that the user did not request.
bool is_wasteful(std::int64_t extent, std::int64_t parts);

/// The axes of a dimension are assigned to its factors major to minor. A factor takes axes while
/// they divide what is left of its size; the last factor takes all remaining axes, even if they do
/// not divide it. At the first axis that does not divide an earlier factor, this axis and all later
/// ones become overflow: they stay on the dimension but do not propagate. Memory is reused from one
/// equation to the next.
class Projection {
 public:
  explicit Projection(const AtomMesh& mesh) : mesh_(mesh) {}

  void read(const CutRule& rule, std::span<const Draft* const> drafts);

  const CutRule& rule() const { return *rule_; }
  /// The axes that the tensor has along the factor; empty if it lacks the factor.
  const Atoms& axes(std::size_t tensor, std::size_t factor) const {
    return axes_[tensor * factors_ + factor];
  }
  /// All axes that partition the tensor, whether or not they belong to a factor.
  AtomSet cut(std::size_t tensor) const { return cut_[tensor]; }
  bool overflows(std::size_t tensor, int dim) const { return overflow_[tensor] >> dim & 1; }
  std::int64_t size(const Atoms& atoms) const { return mesh_.size(atoms); }
  /// How long a prefix of `wanted` the tensor can take along the factor (its current axes are a
  /// prefix of `wanted`). An axis is rejected if the dimension is closed, the axis is barred, it
  /// does not divide what the factor has left, or it would leave a device empty or mostly padding
  /// while no other value of that extent is cut that way.
  std::size_t room(std::size_t tensor, std::size_t factor, const Atoms& wanted) const;
  /// Whether all factors before this one in its dimension are fully partitioned, so that axes along
  /// this one cut the dimension into contiguous blocks.
  bool begins(std::size_t tensor, std::size_t factor) const;
  /// Sets the tensor's axes along the factor. `taken`: they count in cut() from here on.
  void grow(std::size_t tensor, std::size_t factor, const Atoms& axes, bool taken);

  /// The axes of a dimension, concatenated from its factors up to and including the first one that
  /// is not fully partitioned. Axes of later factors would make strided blocks.
  Atoms back(std::size_t tensor, int dim) const;
  bool grew(std::size_t tensor) const { return grown_[tensor] != 0; }
  /// Appends the axes that the tensor grew by to its draft; returns whether there are any.
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
  std::vector<std::uint64_t> overflow_, grown_;  // by tensor: bit per dimension
};

}  // namespace tessera::inline v0::spmd
