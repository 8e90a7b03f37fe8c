// The ops, one line a file. Adding an op: one file in this folder that defines `void register_<name>(Registry&)`, one line here.
#pragma once

#include "ir/op.h"

// clang-format off
#define TESSERA_OP_FILES(X) \
  X(constant) \
  X(iota) \
  X(broadcast_in_dim) \
  X(reshape) \
  X(transpose) \
  X(reverse) \
  X(slice) \
  X(pad) \
  X(concatenate) \
  X(arithmetic) \
  X(arithmetic_unary) \
  X(bitwise) \
  X(compare) \
  X(convert) \
  X(identity) \
  X(reduce) \
  X(select) \
  /* the end */
  X(psum) \
  X(pmax) \
  X(all_gather) \
  X(psum_scatter) \
  X(all_to_all) \
  X(ppermute) \
  X(pbroadcast) \
  X(axis_index) \
  X(pvary) \
  X(shard_map)
// clang-format on

namespace tessera::inline v0::ops {
#define TESSERA_DECLARE_OP(name) void register_##name(Registry& r);
TESSERA_OP_FILES(TESSERA_DECLARE_OP)
#undef TESSERA_DECLARE_OP
}  // namespace tessera::inline v0::ops
