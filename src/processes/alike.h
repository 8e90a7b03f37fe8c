// Settings that are to be the same in all processes.
#pragma once

#include "processes/processes.h"

#include <cstdint>
#include <string_view>

namespace tessera::inline v0::processes {

/// Compares those of all processes, which all call it. A CollectiveError in each of them that lists
/// what differs, by process; nothing is exchanged between them any more then.
void need_like_settings(const JoinOptions& options);

/// Compares a number that all processes say in `function`, which is how many `what` there are;
/// CollectiveError in each of them where it differs.
void need_like_number(std::string_view function, std::string_view what, std::int64_t mine,
                      const SourceLoc& loc);

}  // namespace tessera::inline v0::processes
