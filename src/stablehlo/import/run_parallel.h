// Functions that each of several devices runs.
#pragma once

#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo::rules {

/// A function on every device, which takes arguments of these types: rows of `rows`, whose leading
/// dimension is the devices'. So is that of the results.
Values on_devices(Reading& r, const std::string& function, Values rows,
                  const std::vector<Type>& arguments, std::int64_t replicas,
                  std::int64_t partitions);

}  // namespace tessera::inline v0::stablehlo::rules
