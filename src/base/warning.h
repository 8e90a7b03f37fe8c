// Warnings: things that are allowed and probably not meant.
#pragma once

#include "base/message.h"

#include <tessera/warning.h>

namespace tessera::inline v0 {

/// Hands the message to the user's handler, or prints it to stderr.
void warn(const Message& message);

}  // namespace tessera::inline v0
