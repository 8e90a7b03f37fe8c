// Mapped axes of the arguments and results of vmap and pmap.
#pragma once

#include "api/trace/traced.h"

#include <tessera/axes.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::detail {

/// The axis of every leaf of the arguments by in_axes, not normalised. A list may have an entry for
/// each parameter of the function though the call leaves the last ones to their defaults: entries
/// of these are ignored. TreeError where in_axes does not fit.
std::vector<int> argument_axes(const char* function, const Call& call, const Axes& in_axes,
                               const SourceLoc& loc);

struct MappedArguments {
  std::vector<int> axes;  // by leaf that is not empty: normalised, or kReplicated
  std::int64_t size = 0;  // 0 only if nothing is mapped and no size was asked for
};
/// Reads `in_axes` for the arguments of `call` and checks it: every axis exists and all have one
/// size, `asked` where that is not 0. Lists all offenders.
MappedArguments mapped_arguments(const char* function, const Call& call, const Axes& in_axes,
                                 std::int64_t asked, const SourceLoc& loc);
/// "'" or "number 10": a character of an axis' name that programs and specs cannot be written with;
/// else empty.
std::string odd_character(const std::string& name);
/// Which those are, for errors.
const char* axis_name_rule();
/// The name in programs of an axis inside as many others of its name, which a collective cannot
/// reach: "i;2". Users' names hold no ';'.
std::string inner_name(const std::string& name, std::int64_t others);
/// What collectives call the axis of this name in programs.
std::string_view spoken_name(std::string_view in_program);
/// CollectiveError for a name with such a character.
void check_axis_name(const char* function, const std::string& name, const SourceLoc& loc);
/// The types of examples.
std::vector<Type> example_types(const Call& call, const MappedArguments& mapped);

/// Braces around the only entry of a function with one result, an array or a struct, are the
/// argument list's manner and mean the entry.
const Axes& without_braces(const Axes& out_axes, const TreeDef& described);

/// The axis of each result that is not empty, by its rank with the mapped axis, or kReplicated.
/// `described` is the result's tree.
std::vector<int> result_axes(const char* function, const TracedFunction& f, const Axes& out_axes,
                             const TreeDef& described, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
