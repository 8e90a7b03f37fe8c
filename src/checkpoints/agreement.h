// Agreement between the processes of a program about checkpoint operations. Runs on the program's
// thread; all processes must make these calls in the same order.
#pragma once

#include <tessera/message.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// Lines that must be equal in all processes, each with the text to report if it is not.
struct Asked {
  std::vector<std::string> lines = {};
};
/// The contribution of one process.
struct Said {
  std::exception_ptr error = nullptr;
  /// Numbers sent to the others; those of the first process count.
  std::uint64_t first = 0, second = 0;
  /// The operation must be retried, because other processes changed the files meanwhile.
  bool again = false;
};

/// Rethrows this process's error if it has one. If another process has an error, throws an IoError
/// that describes it, so that no process continues alone. Throws TreeError, which names the first
/// difference, if `asked` is not equal everywhere. `doing` describes the operation, such as "save
/// step 7". Returns the numbers of the first process, with `again` set if any process set it and
/// none has an error. Takes one exchange.
Said agree(const char* function, const std::string& doing, const Said& mine, const Asked& asked,
           const SourceLoc& loc);
/// The same for an error only.
void agree(const char* function, const std::string& doing, const std::exception_ptr& mine,
           const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
