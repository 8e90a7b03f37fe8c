// The devices that collectives of a module name.
#pragma once

#include "stablehlo/import/rules.h"

namespace tessera::inline v0::stablehlo::rules {

/// Those that the function is imported for; IoError where it is for one.
const Devices& need_devices(const Reading& r);
/// The groups that the operation lists, of devices by number.
IntLists device_groups(Reading& r, bool reduces);
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
