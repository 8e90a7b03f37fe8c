// Groups of devices by their place in a mesh as axes of it that they are along.
#pragma once

#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo {

/// The axes of a collective, how many devices they are together, and where groups are not what
/// other axes leave the groups themselves. No axes: each device is alone.
struct Over {
  Strings axes;
  std::int64_t size = 1;
  IntLists groups = {};
};
/// `manual` are the axes that may be named; groups that are along no axes are over these.
Over over_groups(const MeshShape& mesh, const Strings& manual, IntLists groups);

/// Pairs of devices as pairs along the axes that they are along, the same for all others.
struct Moves {
  Over over;
  IntLists pairs;
};
/// As over_groups; nothing where some pairs lie along other axes than these, or are not the same
/// for all devices along those.
std::optional<Moves> over_pairs(const MeshShape& mesh, const Strings& manual,
                                const IntLists& pairs);

/// Divides a device's number as XLA's programs do to get its place along axes: what lies before the
/// dimensions whose sizes multiply to `divisor`, or these, in a range of axes; absent where no axes
/// do.
std::optional<AxisRange> quotient(const MeshShape& mesh, AxisRange range, std::int64_t divisor);
std::optional<AxisRange> remainder(const MeshShape& mesh, AxisRange range, std::int64_t divisor);

}  // namespace tessera::inline v0::stablehlo
