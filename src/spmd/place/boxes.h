// Redistributes a value between two placements by intersecting boxes: computes the boxes that each
// device has to fetch, and from which device. Sizes, meshes, device sets and device orders are
// arbitrary. Everything is a closed form in the coordinates of one device; nothing loops over all
// pairs of devices.
#pragma once

#include "spmd/place/placement.h"

#include <span>
#include <unordered_map>

namespace tessera::inline v0::spmd {

/// A box within the whole array. It is empty if an extent is 0.
struct Box {
  Shape start, extent;
  std::int64_t count() const { return extent.count(); }
  bool operator==(const Box&) const = default;
};

/// The box that a mesh position holds. If the atoms do not divide a dimension, all parts are as
/// long as the longest except the last ones, which are shorter or empty.
Box box_of(const AtomMesh& mesh, const Shape& whole, const Placement& placement,
           std::int64_t position);

/// One side of a redistribution. `devices` are the ids of the mesh's devices in the order of its
/// positions; if empty, the positions are the ids.
struct Side {
  const AtomMesh& mesh;
  const Placement& placement;
  std::span<const int> devices = {};
};

/// A box that a target device needs, and the position on the source mesh that holds it.
struct BoxSource {
  std::int64_t source = 0;
  Box box;
  bool operator==(const BoxSource&) const = default;
};

class BoxExchange {
 public:
  /// Atoms that are unreduced stay unreduced. Throws InternalError if the two sides are unreduced
  /// over different atoms, or over any atoms on different meshes. Keeps references to the meshes.
  BoxExchange(Shape whole, const Side& source, const Side& target);

  /// Non-empty boxes that tile the box of `target`, a position on the target mesh. A device takes
  /// what it already holds from itself. If several devices hold a block, the remaining devices that
  /// need it are distributed evenly among them.
  std::vector<BoxSource> pieces(std::int64_t target) const;
  /// The number of elements that the target receives from other devices.
  std::int64_t received(std::int64_t target) const;

 private:
  int source_id(std::int64_t position) const;
  /// -1 if the device is not one of the source's.
  std::int64_t own_position(std::int64_t target) const;

  Shape whole_;
  const AtomMesh *from_mesh_, *to_mesh_;
  Placement from_, to_;
  std::vector<int> from_devices_, to_devices_;
  std::unordered_map<int, std::int64_t> position_of_;  // by the source's device id
  Shape from_part_, to_part_;
  Atoms from_copies_, to_copies_;  // along which devices hold the same block
  Atoms unreduced_;
};

/// The most bytes that any device needs for `to` and does not hold under `from`. If `from` is
/// unreduced over atoms over which `to` is not, no device holds anything of the result. This is a
/// closed form if the atoms divide the dimensions; otherwise it loops over the positions along the
/// atoms that partition the value.
std::int64_t lower_bound_bytes(const AtomMesh& mesh, const Type& whole, const Placement& from,
                               const Placement& to);

}  // namespace tessera::inline v0::spmd
