// Where warnings go. They go to stderr unless a handler is set.
#pragma once

#include <tessera/config.h>

#include <functional>
#include <string>

namespace tessera::inline v0 {

using WarningHandler = std::function<void(const std::string& message)>;
/// Replaces the handler, for the whole process, and gives the one before; an empty one prints to
/// stderr. It may be called from any thread.
TESSERA_API WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace tessera::inline v0
