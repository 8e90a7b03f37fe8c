// Ops that call host code under vmap: one equation represents all members of the enclosing maps,
// and calls the host once for each of them.
#pragma once

#include "ir/host_array.h"
#include "ops/batching.h"

namespace tessera::inline v0::ops {

/// The attributes "sizes", those of the enclosing maps from the outermost in, and "stacked", for
/// each operand the maps whose dimensions precede its own.
class MapMembers {
 public:
  /// The attributes' names.
  static constexpr const char *kSizes = "sizes", *kStacked = "stacked";

  explicit MapMembers(const Attrs& attrs)
      : sizes_(attrs.ints(kSizes)), stacked_(attrs.get<IntLists>(kStacked)) {}

  Shape shape() const { return Shape(sizes_.begin(), sizes_.end()); }
  std::size_t operands() const { return stacked_.size(); }
  /// Whether an operand has the dimensions of the maps that "stacked" lists for it.
  bool fits(std::size_t operand, const Type& type) const;
  /// The number of dimensions that operand `i` has for maps.
  std::size_t mapped(std::size_t operand) const { return stacked_[operand].size(); }
  /// The part of an operand, or of a result stacked along all maps, that belongs to one member.
  HostArray operand(std::size_t i, const HostArray& stack, const Shape& member) const;
  HostArray result(const HostArray& stack, const Shape& member) const;

  /// The operands and attributes of the equation inside one more map, whose dimension comes first.
  static std::pair<Values, Attrs> inside_map(const BatchArgs& a);

 private:
  const Ints& sizes_;
  const IntLists& stacked_;
};

/// A sharding rule in which every operand and result is replicated.
FactorRule whole_everywhere(const ShardArgs& a);

}  // namespace tessera::inline v0::ops
