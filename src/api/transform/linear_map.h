// The linear function that linearize and vjp return: a program with its residuals.
#pragma once

#include "api/trace/differentiate.h"

#include <tessera/grad.h>

namespace tessera::inline v0::detail {

struct LinearMap::State {
  std::string function;  // "vjp", "linearize"
  std::string argument;  // name of the map's operand in errors
  bool backward = false;
  Linearized lin;
  std::vector<Array> residuals;
  std::vector<Type> in_types,
      out_types;  // of the map's operands and results, by non-empty leaf of the primal tree
  std::vector<int> in_leaf, out_leaf;   // for each leaf, its index in those, or -1 if it is empty
  std::vector<bool> in_live, out_live;  // whether the linear program takes or returns it
  TreeDef in_tree;
};

/// Checks that `got` can be the tangent or cotangent of a value of type `want` at `path`: dtype and
/// shape must be equal. Returns the complaint, or an empty string.
std::string tangent_complaint(const Array& got, const Type& want, const std::string& path);
/// In a typed shard_map, the axes over which `got` varies but `want` does not.
Strings axes_too_many(const Array& got, const Type& want);

}  // namespace tessera::inline v0::detail
