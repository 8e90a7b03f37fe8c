// Expresses groups of devices, given by their positions in a mesh, as mesh axes.
#pragma once

#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo {

/// The axes of a collective, the number of devices along them, and the groups themselves if they
/// are not exactly the devices that agree on all other axes. Without axes, each device is a group
/// of its own.
struct Over {
  Strings axes;
  std::int64_t size = 1;
  IntLists groups = {};
};
/// `manual` lists the axes that may be named; groups that do not follow mesh axes are given over
/// all of them.
Over over_groups(const MeshShape& mesh, const Strings& manual, IntLists groups);

/// Pairs of devices as pairs of positions along axes; the pairs are the same at all positions of
/// the other axes.
struct Moves {
  Over over;
  IntLists pairs;
};
/// As over_groups; returns nothing if some pairs lie along axes outside `manual`, or differ between
/// devices.
std::optional<Moves> over_pairs(const MeshShape& mesh, const Strings& manual,
                                const IntLists& pairs);

/// The axes whose position remains when a device's position along `range` is divided by `divisor`,
/// as XLA's programs do: the major axes for the quotient, the minor ones for the remainder.
/// `divisor` must be the product of the minor sizes; else the result is absent.
std::optional<AxisRange> quotient(const MeshShape& mesh, AxisRange range, std::int64_t divisor);
std::optional<AxisRange> remainder(const MeshShape& mesh, AxisRange range, std::int64_t divisor);

}  // namespace tessera::inline v0::stablehlo
