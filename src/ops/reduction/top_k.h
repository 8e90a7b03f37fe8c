// top_k: what its files share.
#pragma once

#include "ir/routine.h"

#include <memory>

namespace tessera::inline v0::ops {

/// The routine of top_k; top_k_call.cc.
std::shared_ptr<const Routine> top_k_call(const CallArgs& a);

}  // namespace tessera::inline v0::ops
