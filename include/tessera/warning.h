// The destination of warnings, by default stderr.
#pragma once

#include <tessera/config.h>
#include <functional>

#include <string>

namespace tessera::inline v0 {

/// Receives the text of each warning, without a newline at its end.
using WarningHandler = std::function<void(const std::string& message)>;
/// Replaces the process's warning handler and returns the previous one. An empty handler prints to
/// stderr. It may be called from any thread.
TESSERA_API WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace tessera::inline v0
