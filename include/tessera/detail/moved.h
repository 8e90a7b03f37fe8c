// Objects that were moved away and are then used.
#pragma once

#include <tessera/config.h>

#include <source_location>

namespace tessera::inline v0::detail {

/// Throws Error: an object of class `what` has nothing in it, since it was moved away.
[[noreturn]] TESSERA_API void moved_from(const char* what, std::source_location used = {});

}  // namespace tessera::inline v0::detail
