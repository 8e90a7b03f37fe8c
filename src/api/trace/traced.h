// A user's function, traced to a program.
#pragma once

#include "api/trace/trace.h"

#include "spmd/partition/program_shardings.h"

#include <tessera/detail/call.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

/// The line of a call; empty for a default-constructed location.
inline SourceLoc line_of(const std::source_location& l) {
  return l.line() ? SourceLoc(l) : SourceLoc();
}

struct TracedFunction {
  ProgramPtr program;  // inputs: the non-empty leaves of the arguments, then the captures
  std::vector<Array> captures;
  std::vector<NumberBound> bounds;   // the dtypes that bare integers must fit
  std::vector<bool> result_present;  // by leaf of the result
  std::shared_ptr<const void> prototype;
  /// The platform of the devices that the function or its program names; null if it runs where its
  /// arguments are.
  runtime::Backend* backend = nullptr;
  /// How to partition the program into one per device; null if it runs as it is.
  std::shared_ptr<const spmd::ProgramShardings> cutting;
  /// The path of each output if specs refer to paths; else empty.
  std::vector<std::string> result_paths;

  std::size_t explicit_inputs() const { return program->inputs.size() - captures.size(); }
};

/// Types of the non-empty leaves.
std::vector<Type> leaf_types(const Call& call);
/// Indices of the non-empty leaves.
std::vector<std::size_t> present_leaves(const Call& call);

/// Calls the function on traced arrays of these types, one per non-empty leaf. `what` names the
/// transformation in errors, `name` the program.
TracedFunction trace_call(Call& call, const std::string& what, const std::string& name,
                          std::span<const Type> types);
inline TracedFunction trace_call(Call& call, const std::string& what, const std::string& name) {
  return trace_call(call, what, name, leaf_types(call));
}

/// Throws DTypeError if a bare integer among the arguments does not fit a dtype that it meets
/// inside.
void check_bounds(const Call& call, const TracedFunction& f);
/// Throws if a leaf of the arguments has no value here, naming its path.
void check_arguments(const Call& call, const std::string& function, const SourceLoc& loc = {});
/// The operands of a traced function's program: the non-empty leaves, then the captures. If one has
/// no value, the error names `function` and `loc`.
std::vector<Array> operands(const Call& call, const TracedFunction& f, const std::string& function,
                            const SourceLoc& loc = {});
/// The arrays at the positions of the present leaves; the other entries are empty.
std::vector<Array> spread(std::vector<Array> arrays, const std::vector<bool>& present);
/// The result of a call, from the results of its program.
Outcome outcome(const TracedFunction& f, std::vector<Array> results);

/// "args[0]/layers/1/w: f32[3,4]".
std::string leaf_path(const Call& call, std::size_t leaf);

}  // namespace tessera::inline v0::detail
