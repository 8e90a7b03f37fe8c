// Maps over devices inside one another.
#pragma once

#include "base/message.h"

namespace tessera::inline v0::detail {

/// CollectiveError where `function` is called inside a function that runs on devices already.
void refuse_nested(const char* function, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
