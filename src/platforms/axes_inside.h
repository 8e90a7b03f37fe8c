// The axes of maps inside one map over devices, as axes of one mesh.
//
// A module has one mesh, and maps inside one map may have axes of other names and sizes. If each
// number of positions along the first axes of one map divides, or is divided by, those of another,
// such as 2 and 4, they share axes: those of the mesh have the quotients as sizes (2 and 2), and an
// axis of a map is one or more of them. Devices along axes that a map does not have do the same as
// one another. Maps without such sizes, such as 2 and 3, get axes of their own, so that the mesh
// has as many devices as the product of both.
#pragma once

#include "ir/mesh.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tessera::inline v0::platforms {

class AxesInside {
 public:
  /// `shapes`: the different meshes of the maps; at least one. The new names differ from those of
  /// `around`, the mesh of the map around them.
  AxesInside(const std::vector<MeshShape>& shapes, const MeshShape& around);

  /// All axes together. They are those of the maps themselves if these have one mesh.
  const MeshShape& all() const { return all_; }
  /// Whether some maps share no axes.
  bool multiplies() const { return groups_.size() > 1; }
  /// The axes, with the major one first, that stand for an axis of a map of this mesh.
  std::vector<std::string> parts_of(const MeshShape& shape, const std::string& axis) const;

 private:
  struct Group {
    std::vector<MeshShape> shapes;
    std::set<std::int64_t> borders;  // 1, and the numbers of positions along the first axes
    std::vector<std::string> axes;   // between one border and the next
  };
  MeshShape all_;
  bool is_one_ = false;  // there is one mesh
  std::vector<Group> groups_;
  std::string single_;  // stands for axes of size 1
};

}  // namespace tessera::inline v0::platforms
