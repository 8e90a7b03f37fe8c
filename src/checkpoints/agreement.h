// What the processes of a program tell each other about checkpoints, on the thread of the program:
// all of them come here, in one order.
#pragma once

#include <tessera/message.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// What is to be the same in all processes, a line each, and what to say where it is not.
struct Asked {
  std::vector<std::string> lines = {};
};
/// What a process says.
struct Said {
  std::exception_ptr error = nullptr;
  /// Numbers that the others are told, of which those of the first process count.
  std::uint64_t first = 0, second = 0;
  /// It is to be tried again: others changed the files meanwhile.
  bool again = false;
};

/// Throws the error of this process where it has one; where another process has one, an IoError
/// that says what, so that none goes on alone. TreeError where what was asked for is not the same
/// everywhere: it names the first difference. `doing` is what they are at: "save step 7". Gives the
/// numbers of the first process, and `again` where any process says so and none has an error. One
/// exchange.
Said agree(const char* function, const std::string& doing, const Said& mine, const Asked& asked,
           const SourceLoc& loc);
/// Nothing but the error.
void agree(const char* function, const std::string& doing, const std::exception_ptr& mine,
           const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
