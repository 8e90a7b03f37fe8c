// The error for objects that are used after being moved from.
#pragma once

#include <tessera/config.h>

#include <source_location>

namespace tessera::inline v0::detail {

/// Throws Error because an object of class `what` is used after being moved from.
[[noreturn]] TESSERA_API void moved_from(const char* what, std::source_location used = {});

}  // namespace tessera::inline v0::detail
