// A hash of one attribute of an equation.
#pragma once

#include "ir/attrs.h"

#include <cstddef>

namespace tessera::inline v0 {

/// A cheap, incomplete hash: equality decides between attributes with equal hashes. Literals are
/// hashed by their bytes, because a program may hold many of the same shape.
std::size_t hash_of(const AttrValue& value);

}  // namespace tessera::inline v0
