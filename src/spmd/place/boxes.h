// Which boxes of a value come from where, when it goes from one placement to another by
// intersection: any sizes, meshes, sets and orders of devices. All in closed forms from the
// coordinates of one device; nothing lists all devices against all.
#pragma once

#include "spmd/place/placement.h"

#include <span>
#include <unordered_map>

namespace tessera::inline v0::spmd {

/// A box of the whole. An extent of 0 is an empty one.
struct Box {
  Shape start, extent;
  std::int64_t count() const { return extent.count(); }
  bool operator==(const Box&) const = default;
};

/// What a position of the mesh has. Parts are as long as the longest; the last ones are shorter, or
/// empty, where atoms do not divide a dimension.
Box box_of(const AtomMesh& mesh, const Shape& whole, const Placement& placement,
           std::int64_t position);

/// One side of a redistribution. `devices` are the ids of the mesh's devices, in the order of its
/// positions; none: their positions.
struct Side {
  const AtomMesh& mesh;
  const Placement& placement;
  std::span<const int> devices = {};
};

/// A part of what a device of the target needs, and the position on the source's mesh that has it.
struct BoxSource {
  std::int64_t source = 0;
  Box box;
  bool operator==(const BoxSource&) const = default;
};

class BoxExchange {
 public:
  /// What is unreduced stays so: InternalError where the two sides are unreduced over different
  /// atoms, or over any on different meshes. Keeps references to the meshes.
  BoxExchange(Shape whole, const Side& source, const Side& target);

  /// They tile the box of `target`, a position on the target's mesh, without empty ones. What a
  /// device has itself it takes from itself. The other devices that ask for one block are dealt out
  /// evenly to those that have it.
  std::vector<BoxSource> pieces(std::int64_t target) const;
  /// Elements that come from other devices.
  std::int64_t received(std::int64_t target) const;

 private:
  int source_id(std::int64_t position) const;
  /// -1 where the device is not among the source's.
  std::int64_t own_position(std::int64_t target) const;

  Shape whole_;
  const AtomMesh *from_mesh_, *to_mesh_;
  Placement from_, to_;
  std::vector<int> from_devices_, to_devices_;
  std::unordered_map<int, std::int64_t> position_of_;  // by device of the source
  Shape from_part_, to_part_;
  Atoms from_copies_, to_copies_;  // along which devices have the same
  Atoms unreduced_;
};

/// The most bytes that a device needs for `to` and does not hold as `from`. Where `from` is
/// unreduced over atoms over which `to` is not, no device holds anything of the result. A closed
/// form where the atoms divide the dimensions; else over the positions along the atoms that cut.
std::int64_t lower_bound_bytes(const AtomMesh& mesh, const Type& whole, const Placement& from,
                               const Placement& to);

}  // namespace tessera::inline v0::spmd
