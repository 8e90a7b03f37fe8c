// A thread for calls of the plug-in that wait for other processes and have no time-out.
#pragma once

#include <functional>

namespace tessera::inline v0::processes {

/// Runs `work` on the helper thread, waits for it, and rethrows what it throws. Returns false after
/// `seconds`: the thread is then lost to that call, which may still access its arguments, and runs
/// nothing else. The same thread serves the whole life of the process, because MPI must be
/// finalised by the thread that initialised it.
bool run_within(double seconds, std::function<void()> work);

}  // namespace tessera::inline v0::processes
