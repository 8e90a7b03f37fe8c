// The names that code gives to what it does (tessera/debug.h), for errors.
#pragma once

#include <string>

namespace tessera::inline v0 {

/// Of this thread, from the outermost: "model/layer_0"; empty where there are none.
std::string& named_scopes();

}  // namespace tessera::inline v0
