// Runs work on several files and blocks in parallel.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

namespace tessera::inline v0::checkpoints {

/// Starts a thread that blocks all signals, so that the program's signals are not delivered to it,
/// and a write beyond the file-size limit fails with an error instead of ending the process. Throws
/// std::system_error if the system cannot create a thread.
std::thread quiet_thread(std::function<void()> work);

/// Calls `work` with 0 to count - 1 on as many threads as are worthwhile, including the calling
/// thread, which must be a quiet_thread if files are written. Once a call throws, no further calls
/// start; when all have finished, the first exception is rethrown.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

/// The most threads that in_parallel uses.
std::size_t thread_count();

}  // namespace tessera::inline v0::checkpoints
