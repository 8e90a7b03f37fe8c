// What the processes of a program tell each other about checkpoints, on the thread of the program:
// all of them come here, in one order.
#pragma once

#include <tessera/message.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// Throws `mine` where there is one; where another process has one, an IoError that says what, so
/// that none goes on alone. `doing` is what they are at: "save step 7". One exchange where
/// processes are several, and none else.
void agree(const char* function, const std::string& doing, const std::exception_ptr& mine,
           const SourceLoc& loc);
/// Of the first process.
std::uint64_t of_first(std::uint64_t mine);
/// TreeError where a process has other lines than the first, which names the first difference.
void need_same_lines(const char* function, const std::string& what,
                     const std::vector<std::string>& mine, const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
