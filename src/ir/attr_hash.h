// A hash of one attribute of an equation.
#pragma once

#include "ir/attrs.h"

#include <cstddef>

namespace tessera::inline v0 {

/// Cheap rather than complete: what it leaves out, a comparison sees. Literals count by their
/// bytes, for there are many of one shape.
std::size_t hash_of(const AttrValue& value);

}  // namespace tessera::inline v0
