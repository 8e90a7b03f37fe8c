// The named scopes (tessera/debug.h) that errors, plans and profiles show.
#pragma once

#include <string>

namespace tessera::inline v0 {

/// The scopes of this thread from the outermost, e.g. "model/layer_0"; empty if there are none.
std::string& named_scopes();

/// The scopes of an equation of a nested program, where `outer` are those of the equation that has
/// the program. Scopes that begin with `outer` are in full already.
std::string scopes_within(const std::string& outer, const std::string& scopes);

}  // namespace tessera::inline v0
