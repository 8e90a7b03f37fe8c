// Functions that run on each of several devices.
#pragma once

#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo::rules {

/// Calls a function on every device. `arguments` are the types of its arguments, which are the rows
/// of `rows`: the leading dimension of these, and of the results, indexes the devices.
Values on_devices(Reading& r, const std::string& function, Values rows,
                  const std::vector<Type>& arguments, std::int64_t replicas,
                  std::int64_t partitions);

}  // namespace tessera::inline v0::stablehlo::rules
