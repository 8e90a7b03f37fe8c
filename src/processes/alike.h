// Checks that settings are equal in all processes.
#pragma once

#include "processes/processes.h"

#include <cstdint>
#include <string_view>

namespace tessera::inline v0::processes {

class Group;

/// Compares the settings of all processes; all of them must call it. If any differ, every process
/// throws a CollectiveError that lists the differences by process, and they exchange nothing
/// further.
void need_like_settings(Group& group, const JoinOptions& options);

/// Compares a number that all processes of the group pass to `function`, the number of `what`.
/// Throws CollectiveError in every process if it differs.
void need_like_number(Group& group, std::string_view function, std::string_view what,
                      std::int64_t mine, const SourceLoc& loc);

}  // namespace tessera::inline v0::processes
