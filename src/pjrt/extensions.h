// Extensions of the interface: the order of dimensions in memory, the memories of devices, and the
// shardings of arguments and results.
#pragma once

#include "platforms/abi.h"

namespace tessera::inline v0::pjrt {

/// The first of the extensions that the table of functions lists.
PJRT_Extension_Base* extensions();

}  // namespace tessera::inline v0::pjrt
