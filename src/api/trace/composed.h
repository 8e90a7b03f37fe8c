// NumPy-level functions that are made of others: written with the public functions on arrays, and
// run as one program outside any trace, as composites are.
#pragma once

#include "api/trace/trace.h"

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

namespace tessera::inline v0::detail {

/// `body` gets the operands, traced where no trace is around the call, and gives the results. What
/// it reads of them is known in traces: dtypes and shapes. `name` heads the errors and names the
/// compiled program, and lines are those of `loc`.
using ComposedBody = std::function<std::vector<Array>(std::span<const Array> in)>;
std::vector<Array> composed(const char* name, std::span<const Array> inputs, const SourceLoc& loc,
                            const ComposedBody& body);
inline std::vector<Array> composed(const char* name, std::initializer_list<Array> inputs,
                                   const SourceLoc& loc, const ComposedBody& body) {
  return composed(name, std::span<const Array>(inputs.begin(), inputs.size()), loc, body);
}

/// One result.
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
