// The devices that collectives of a module name.
#pragma once

#include "stablehlo/import/groups.h"
#include "stablehlo/import/rules.h"

namespace tessera::inline v0::stablehlo::rules {

/// Those that the function is imported for; IoError where it is for one.
const Devices& need_devices(const Reading& r);
/// The groups that the operation lists, of devices by their places in the mesh.
IntLists device_groups(Reading& r, bool reduces);
/// Groups as axes; IoError where the partitioner divides the program along one of them.
Over over_axes(const Reading& r, IntLists groups);
/// x as an operand of a collective along these axes: in a typed region it is typed as differing along
/// them.
Value across(const Reading& r, Value x, const Strings& axes);
/// What the devices have, one behind the other along a new dimension or along `axis`; no axes: x is
/// what there is.
Value gathered(const Reading& r, Value x, const Over& over, int axis, bool tiled);
/// The device's place along all axes of its mesh.
Value place_in_mesh(const Reading& r);

/// The numbers that a field `replica_groups` of axes of a mesh stands for, mesh_groups.cc.
IntLists groups_of_mesh(const Reading& r, const AttributeSyntax& groups);

/// What the devices of each group have, combined by the region, on all of them; where groups may be
/// `partial`, devices in none get zeros. device_reductions.cc.
Values reduced_over_devices(Reading& r, bool partial);

/// What the devices of a group have, fetched one by one: for groups that differ in size or leave
/// devices out, and for members that data name. peers.cc.
class Peers {
 public:
  Peers(const Reading& r, const IntLists& groups);
  Value this_device() const { return this_device_; }
  /// The device that is member `k` of this one's group, -1 where there is none: an int64 scalar.
  Value member(Value k) const;
  /// What device `from` has; zeros where that is -1.
  Value sent(Value x, Value from) const;
  /// What the members of the group have, one behind the other, and which of these rows there are.
  struct Rows {
    Value values, there;
  };
  Rows rows(Value x) const;

 private:
  const Reading& r_;
  Value this_device_, members_;
};

}  // namespace tessera::inline v0::stablehlo::rules
