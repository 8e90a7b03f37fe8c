// Resolves the axes that a collective names.
#pragma once

#include "base/message.h"
#include "ir/attrs.h"

#include <tessera/collectives.h>

namespace tessera::inline v0::detail {

/// The axes of a collective, in terms of the transformations that bind them.
struct Members {
  Strings names;
  std::int64_t size = 1;
  std::string of_vmap;  // the axis that vmap maps, if one of them is
  /// The names bound by a typed shard_map, and the others.
  AxisSet typed;
  Strings typed_names, untyped_names;
  std::int64_t untyped_size = 1;
};
/// Throws CollectiveError if a name is unbound, bound to an automatic axis, or given twice.
Members members(const char* function, const AxisNames& axes, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
