// A thread for calls of the plug-in that wait for other processes and cannot be told for how long.
#pragma once

#include <functional>

namespace tessera::inline v0::processes {

/// Runs `work` on the helper thread and waits for it; rethrows what it throws. False after so many
/// seconds: the thread is lost to that call then, which may still read and write what it was given,
/// and nothing else is run on it. It is one thread to the end of the process, because MPI is to be
/// ended by the thread that began it.
bool run_within(double seconds, std::function<void()> work);

}  // namespace tessera::inline v0::processes
