// Warnings about usage that is allowed but probably a mistake.
#pragma once

#include "base/message.h"

#include <tessera/warning.h>

namespace tessera::inline v0 {

/// Passes the message to the user's handler, or prints it to stderr.
void warn(const Message& message);

}  // namespace tessera::inline v0
