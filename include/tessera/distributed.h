// Support for several processes that run one program together.
//
// A launcher starts the processes (mpirun -n 2 ./program), and each of them makes the same calls.
// Their devices form one list: process p has the n devices p * n to p * n + n - 1. A program that
// is written for one process with eight devices runs unchanged on two processes with four each and
// gives the same bits. An array over devices of several processes is a whole array to computations,
// and each process can read the shards of its own devices. Arrays without a placement are per
// process, and must be equal in all of them.
//
// Without a launcher there is a single process, and nothing here has a cost. Processes communicate
// through a plug-in based on MPI, which is loaded only if there are several.
#pragma once

#include <tessera/device.h>

#include <source_location>
#include <vector>

namespace tessera::inline v0 {

/// From 0 to process_count() - 1. Without a launcher the index is 0 and the count 1.
TESSERA_API int process_index();
TESSERA_API int process_count();
/// The entries of devices() that belong to this process.
TESSERA_API std::vector<Device> local_devices();
/// The process that owns a device. Throws DeviceError if there is no such device or platform.
TESSERA_API int process_of(Device device,
                           std::source_location loc = std::source_location::current());

/// Returns the whole of x in every process, on its first CPU device, uncommitted. All processes
/// must call it. If x is on a single device, so that each process has its own, the result has a new
/// dimension 0 with one entry per process, unless all processes name the same device.
TESSERA_API Array process_allgather(Operand x);

namespace distributed {

/// The options of distributed::initialize.
struct InitializeOptions {
  detail::Named named = detail::Named();
  /// How many seconds processes wait for one that does not reach a common operation, including this
  /// call. Must be positive.
  double timeout = 60;
  /// Set this if several threads of each process make calls that all processes make. Calls are then
  /// executed in the order of process 0, which each call has to look up. A thread is identified by
  /// the first program that it calls, which must differ between threads.
  bool several_threads = false;
};
/// Joins the processes that a launcher started. The first query about devices does this implicitly,
/// so call it before then, and only to set options. It does nothing without a launcher. Throws
/// Error if the processes cannot be joined or the timeout is not positive, and CollectiveError if
/// one is late or if settings that must agree differ (docs/processes.md).
TESSERA_API void initialize(const InitializeOptions& options = {},
                            std::source_location loc = std::source_location::current());
/// The timeout in seconds, InitializeOptions::timeout.
TESSERA_API double timeout();
/// Returns when all processes have called it. Throws CollectiveError if one does not within the
/// timeout.
TESSERA_API void barrier(std::source_location loc = std::source_location::current());

}  // namespace distributed
}  // namespace tessera::inline v0
