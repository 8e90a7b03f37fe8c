// The named scopes (tessera/debug.h) that errors show.
#pragma once

#include <string>

namespace tessera::inline v0 {

/// The scopes of this thread from the outermost, e.g. "model/layer_0"; empty if there are none.
std::string& named_scopes();

}  // namespace tessera::inline v0
