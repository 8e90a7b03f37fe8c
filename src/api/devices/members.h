// The axes that a collective names.
#pragma once

#include "base/message.h"
#include "ir/attrs.h"

#include <tessera/collectives.h>

namespace tessera::inline v0::detail {

/// The axes of a call as their binders know them.
struct Members {
  Strings names;
  std::int64_t size = 1;
  std::string of_vmap;  // one that vmap maps; empty where there is none
  /// Of the names those of a typed shard_map, and the others.
  AxisSet typed;
  Strings typed_names, untyped_names;
  std::int64_t untyped_size = 1;
};
/// CollectiveError for a name that is bound to no axis, to an automatic one, or given twice.
Members members(const char* function, const AxisNames& axes, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
