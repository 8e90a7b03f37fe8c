// The mapped axes of the arguments and results of vmap and pmap.
#pragma once

#include "api/trace/traced.h"

#include <tessera/axes.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::detail {

/// The axis of every leaf of the arguments according to in_axes, not normalised. If in_axes is a
/// list, it may have an entry for every parameter of the function even if the call omits trailing
/// arguments that have defaults; their entries are ignored. Throws TreeError if in_axes does not
/// match the arguments.
std::vector<int> argument_axes(const char* function, const Call& call, const Axes& in_axes,
                               const SourceLoc& loc);

struct MappedArguments {
  std::vector<int> axes;  // by non-empty leaf: normalised, or kReplicated
  std::int64_t size = 0;  // 0 only if no leaf is mapped and no size was asked for
};
/// Reads `in_axes` for the arguments of `call` and checks that every axis exists and that all have
/// the same size (`asked`, if that is not 0). The error lists all offending arguments.
MappedArguments mapped_arguments(const char* function, const Call& call, const Axes& in_axes,
                                 std::int64_t asked, const SourceLoc& loc);
/// The first character of an axis name that programs and specs cannot spell, as "'" or "number 10";
/// else empty.
std::string odd_character(const std::string& name);
/// The rule for such characters, for errors.
const char* axis_name_rule();
/// The name in programs of an axis that is nested in `others` axes of the same name and that
/// collectives cannot reach: "i;2". Names given by users contain no ';'.
std::string inner_name(const std::string& name, std::int64_t others);
/// The name by which collectives refer to an axis of this name in programs.
std::string_view spoken_name(std::string_view in_program);
/// Throws CollectiveError if a name has such a character.
void check_axis_name(const char* function, const std::string& name, const SourceLoc& loc);
/// The types of one example: the arguments without their mapped axes.
std::vector<Type> example_types(const Call& call, const MappedArguments& mapped);

/// `out_axes`, with braces removed if they enclose the only entry of a function with one result (an
/// array or a struct): they are then only the syntax of a braced argument.
const Axes& without_braces(const Axes& out_axes, const TreeDef& described);

/// The axis of each non-empty result, normalised by its rank including the mapped axis, or
/// kReplicated. `described` is the result's tree.
std::vector<int> result_axes(const char* function, const TracedFunction& f, const Axes& out_axes,
                             const TreeDef& described, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
