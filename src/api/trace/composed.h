// NumPy-level functions that are composed of public functions on arrays; outside any trace, each
// runs as one program, as composites do.
#pragma once

#include "api/trace/trace.h"

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

namespace tessera::inline v0::detail {

/// Computes the results from the operands. Outside a trace the operands are traced, so `body` may
/// read only their dtypes and shapes. `name` heads errors and names the compiled program; errors
/// show the line of `loc`.
using ComposedBody = std::function<std::vector<Array>(std::span<const Array> in)>;
std::vector<Array> composed(const char* name, std::span<const Array> inputs, const SourceLoc& loc,
                            const ComposedBody& body);
inline std::vector<Array> composed(const char* name, std::initializer_list<Array> inputs,
                                   const SourceLoc& loc, const ComposedBody& body) {
  return composed(name, std::span<const Array>(inputs.begin(), inputs.size()), loc, body);
}

/// As composed, for a body with one result.
template <class F>
Array composed1(const char* name, std::span<const Array> inputs, const SourceLoc& loc, F&& body) {
  return composed(name, inputs, loc,
                  [&](std::span<const Array> in) { return std::vector<Array>{body(in)}; })[0];
}
template <class F>
Array composed1(const char* name, std::initializer_list<Array> inputs, const SourceLoc& loc,
                F&& body) {
  return composed1(name, std::span<const Array>(inputs.begin(), inputs.size()), loc, body);
}

}  // namespace tessera::inline v0::detail
