// Ops that select one element of each window.
#pragma once

#include "ops/reduction/window_dims.h"

namespace tessera::inline v0::ops {

inline Attrs select_attrs(const WindowDims& dims, int rank, bool max) {
  Attrs attrs = window_attrs(dims, rank);
  attrs.set("select", std::string(max ? "ge" : "le"));
  return attrs;
}
inline bool selects_max(const Attrs& attrs) { return attrs.str("select") == "ge"; }

/// Their sharding rule and local rules; select_window_parts.cc.
FactorRule select_window_sharding(const ShardArgs& a, bool scatter);
Values select_gather_local(const LocalArgs& a);
Values select_scatter_local(const LocalArgs& a);

}  // namespace tessera::inline v0::ops
