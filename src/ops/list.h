// Declares all ops. To add one, add a file in this folder that defines `void
// register_<name>(Registry&)`, and its line in list.inc.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {
#define TESSERA_OP(name) void register_##name(Registry& r);
#include "ops/list.inc"
#undef TESSERA_OP
}  // namespace tessera::inline v0::ops
