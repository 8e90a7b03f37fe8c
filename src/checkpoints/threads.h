// Work on several files and pieces at once.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

namespace tessera::inline v0::checkpoints {

/// A thread of the library's own: the program's signals are not delivered to it, and a write beyond
/// the limit on the size of files is an error there and not the end of the process.
/// std::system_error where the system has none.
std::thread quiet_thread(std::function<void()> work);

/// Calls `work` with 0 to count - 1, on as many threads as are worth it, this one among them, which
/// is to be quiet too where files are written. Once a call throws no further ones begin, and the
/// first exception is thrown when all are over.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

/// How many threads in_parallel takes at most.
std::size_t thread_count();

}  // namespace tessera::inline v0::checkpoints
