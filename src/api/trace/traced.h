// A user's function as a program.
#pragma once

#include "api/trace/trace.h"

#include "spmd/partition/program_shardings.h"

#include <tessera/detail/call.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

/// The line of a call; none for a default-constructed location.
inline SourceLoc line_of(const std::source_location& l) {
  return l.line() ? SourceLoc(l) : SourceLoc();
}

struct TracedFunction {
  ProgramPtr program;  // inputs: the leaves of the arguments that are not empty, then the captures
  std::vector<Array> captures;
  std::vector<NumberBound> bounds;   // what bare integers among the arguments have to fit
  std::vector<bool> result_present;  // by leaf of the result
  std::shared_ptr<const void> prototype;
  /// The platform of the devices that it names; null: it runs where its arguments are.
  runtime::Backend* backend = nullptr;
  /// How it is to be cut into a program a device; null: it runs as it is.
  std::shared_ptr<const spmd::ProgramShardings> cutting;
  /// By output, where specs go by them; else none.
  std::vector<std::string> result_paths;

  std::size_t explicit_inputs() const { return program->inputs.size() - captures.size(); }
};

/// Types of the leaves that are not empty.
std::vector<Type> leaf_types(const Call& call);
/// Positions of those leaves.
std::vector<std::size_t> present_leaves(const Call& call);

/// Calls the function on traced arrays of these types (one a leaf that is not empty). `what` names
/// the transformation in errors, `name` the program.
TracedFunction trace_call(Call& call, const std::string& what, const std::string& name,
                          std::span<const Type> types);
inline TracedFunction trace_call(Call& call, const std::string& what, const std::string& name) {
  return trace_call(call, what, name, leaf_types(call));
}

/// DTypeError where a bare integer among the arguments does not fit what it meets inside.
void check_bounds(const Call& call, const TracedFunction& f);
/// Throws where a leaf of the arguments has no value here, naming its path.
void check_arguments(const Call& call, const std::string& function, const SourceLoc& loc = {});
/// The operands of a traced function's program: the leaves that are not empty, then the captures.
/// `function` and `loc` are for the error where one of them has no value.
std::vector<Array> operands(const Call& call, const TracedFunction& f, const std::string& function,
                            const SourceLoc& loc = {});
/// Arrays in the places of the leaves that are present; the others are empty.
std::vector<Array> spread(std::vector<Array> arrays, const std::vector<bool>& present);
/// The result of a call from what its program gave.
Outcome outcome(const TracedFunction& f, std::vector<Array> results);

/// "args[0]/layers/1/w: f32[3,4]".
std::string leaf_path(const Call& call, std::size_t leaf);

}  // namespace tessera::inline v0::detail
