// Partition specifications inside the IR: for each dimension of a value the mesh axes that cut it,
// major first.
//
// In attributes a spec is text: dimensions separated by ';', axes by ','. "" is replicated, "i"
// cuts dim 0 over i, ";i" cuts dim 1, "x,y" cuts dim 0 over x (major) and y.
#pragma once

#include "ir/type.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::spmd {

struct Spec {
  std::vector<std::vector<std::string>> dims;  // trailing replicated dims may be absent
  AxisSet axes() const;
  /// Axes that cut dimension `d`; none past the end.
  const std::vector<std::string>& axes_of(int d) const;
  bool operator==(const Spec&) const = default;
};
Spec parse_spec(std::string_view text);
std::string to_string(const Spec& spec);
/// As the user writes it: "P()", "P('x')", "P(none, ('x', 'y'))".
std::string spelled(const Spec& spec);

/// The axes of a mesh with their sizes; devices are numbered row-major.
struct MeshShape {
  std::vector<std::string> axes;
  std::vector<std::int64_t> sizes;

  std::int64_t size() const;
  /// -1 when there is none.
  int find(std::string_view axis) const;
  std::int64_t size_of(std::string_view axis) const;  // InternalError when there is none
  std::int64_t size_of(const std::vector<std::string>& names) const;
  /// Position of `device` along `names`, first major.
  std::int64_t index_along(std::int64_t device, const std::vector<std::string>& names) const;
  std::vector<std::string> ordered(const AxisSet& set) const;
};

/// Shape of one block, and of the whole from a block. The spec fits: its axes are of the mesh and
/// divide.
Shape block_shape(const Shape& whole, const Spec& spec, const MeshShape& mesh);
Shape whole_shape(const Shape& block, const Spec& spec, const MeshShape& mesh);
/// Where `device`'s block starts in the whole.
Shape block_start(const Shape& block, const Spec& spec, const MeshShape& mesh, std::int64_t device);

}  // namespace tessera::inline v0::spmd
