// The devices that collectives of a module name.
#pragma once

#include "stablehlo/import/rules.h"

namespace tessera::inline v0::stablehlo::rules {

/// Those that the function is imported for; IoError where it is for one.
const Devices& need_devices(const Reading& r);
/// The groups that the operation lists, of devices by number.
IntLists device_groups(Reading& r, bool reduces);

}  // namespace tessera::inline v0::stablehlo::rules
