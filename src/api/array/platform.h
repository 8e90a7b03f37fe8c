// Finds platforms by the names that users give them.
#pragma once

#include "base/message.h"
#include "runtime/backend.h"

#include <string_view>

namespace tessera::inline v0::detail {

/// Throws DeviceError, naming `function`, if the process has no such platform.
runtime::Backend& need_backend(const char* function, std::string_view platform,
                               const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
