// Helpers for importing collectives, which name devices or groups of devices.
#pragma once

#include "stablehlo/import/groups.h"
#include "stablehlo/import/rules.h"

namespace tessera::inline v0::stablehlo::rules {

/// The devices that the function is imported for; throws IoError if it is for only one.
const Devices& need_devices(const Reading& r);
/// The groups that the operation lists; devices are given by their position in the mesh.
IntLists device_groups(Reading& r, bool reduces);
/// The groups as mesh axes; throws IoError if the partitioner divides the program along one of
/// them.
Over over_axes(const Reading& r, IntLists groups);
/// x as an operand of a collective along these axes: in a typed region, it is typed as varying
/// along them.
Value across(const Reading& r, Value x, const Strings& axes);
/// Concatenates the values of the devices along a new dimension or along `axis`. If there are no
/// axes, x is the only value.
Value gathered(const Reading& r, Value x, const Over& over, int axis, bool tiled);
/// The device's position along all axes of its mesh.
Value place_in_mesh(const Reading& r);

/// The device numbers that `replica_groups` stands for if it is given as axes of a mesh
/// (mesh_groups.cc).
IntLists groups_of_mesh(const Reading& r, const AttributeSyntax& groups);

/// Reduces the values of each group with the region, giving the result to all its devices. If the
/// groups may be `partial`, devices outside all groups get zeros (device_reductions.cc).
Values reduced_over_devices(Reading& r, bool partial);

/// The values of the devices of a group, fetched one by one: for groups that differ in size or
/// leave out devices, and for members selected by data (peers.cc).
class Peers {
 public:
  Peers(const Reading& r, const IntLists& groups);
  Value this_device() const { return this_device_; }
  /// The device that is member `k` of this device's group, or -1 if there is none: an int64 scalar.
  Value member(Value k) const;
  /// The value of device `from`, or zeros if that is -1.
  Value sent(Value x, Value from) const;
  /// The values of the group's members, stacked, and which of these rows exist.
  struct Rows {
    Value values, there;
  };
  Rows rows(Value x) const;

 private:
  const Reading& r_;
  Value this_device_, members_;
};

}  // namespace tessera::inline v0::stablehlo::rules
