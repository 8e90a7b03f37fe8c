// The linear function that linearize and vjp give: a program with its residuals.
#pragma once

#include "api/trace/differentiate.h"

#include <tessera/grad.h>

namespace tessera::inline v0::detail {

struct LinearMap::State {
  std::string function;  // "vjp", "linearize"
  std::string argument;  // what the map takes, in errors
  bool backward = false;
  Linearized lin;
  std::vector<Array> residuals;
  std::vector<Type> in_types,
      out_types;  // of what goes in and comes out, by leaf that is not empty in the primal tree
  std::vector<int> in_leaf, out_leaf;   // index into those by leaf; -1 for empty leaves
  std::vector<bool> in_live, out_live;  // whether the linear program takes or gives it
  TreeDef in_tree;
};

/// Checks that `got` can be the tangent or cotangent of something of type `want` called `path`:
/// same dtype and shape. Gives the complaint, empty where it can.
std::string tangent_complaint(const Array& got, const Type& want, const std::string& path);
/// In a typed shard_map: the axes over which `got` varies, and `want` does not.
Strings axes_too_many(const Array& got, const Type& want);

}  // namespace tessera::inline v0::detail
