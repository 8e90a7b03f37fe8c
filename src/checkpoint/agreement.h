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
/// that none goes on alone. `doing` is what they are at: "save step 7".
void agree(const char* function, const std::string& doing, const std::exception_ptr& mine,
           const SourceLoc& loc);
/// The same, and gives the first process's number. Where `lines` are not the same in all processes,
/// TreeError that names the first difference. One exchange.
std::uint64_t agree(const char* function, const std::string& doing, const std::exception_ptr& mine,
                    std::uint64_t number, const std::vector<std::string>& lines,
                    const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
