// Several processes that run one program together.
//
// A launcher starts them (mpirun -n 2 ./program), each makes the same calls, and their devices are
// one list: process p has devices p * n to p * n + n - 1. A program for one process with eight
// devices runs on two with four each as it is, and gives the same bits. Arrays over devices of
// several processes are whole arrays to those who compute with them; a process reads the blocks
// that its own devices have. What is placed nowhere each process has for itself, and all are to
// have the same.
//
// Without a launcher there is one process, and nothing here costs anything. Processes are joined by
// a plug-in over MPI, which is loaded then and only then.
#pragma once

#include <tessera/device.h>

#include <source_location>
#include <vector>

namespace tessera::inline v0 {

/// 0 to process_count() - 1; 0 of 1 where no launcher started others.
TESSERA_API int process_index();
TESSERA_API int process_count();
/// Those of devices() that are this process's.
TESSERA_API std::vector<Device> local_devices();
/// The process that a device is of; DeviceError where there is no such device.
TESSERA_API int process_of(Device device,
                           std::source_location loc = std::source_location::current());

/// The whole of x in every process, on its first device, not committed: all processes call it. Of
/// an x on one device, which each process has for itself, one entry a process along a new dimension
/// 0, unless all processes mean the same device.
TESSERA_API Array process_allgather(Operand x);

namespace distributed {

struct InitializeOptions {
  detail::Named named = detail::Named();
  /// Others wait so long, in seconds, for a process that does not come to what all do together,
  /// this call too. More than 0.
  double timeout = 60;
  /// Several threads of each process make calls that all processes make. They come in the order in
  /// which those of process 0 do, which costs each call a look at what it says. A thread is known
  /// by the first program that it calls: one that no other thread calls first.
  bool several_threads = false;
};
/// Joins the processes that a launcher started. The first question about devices does it, so that
/// it is called for its options, and before them. Nothing happens where nobody started others.
/// Error where they cannot be joined or the timeout is not positive; CollectiveError where not all
/// come in time, or settings that all are to have differ (docs/processes.md).
TESSERA_API void initialize(const InitializeOptions& options = {},
                            std::source_location loc = std::source_location::current());
/// How many seconds a process is waited for: InitializeOptions::timeout.
TESSERA_API double timeout();
/// Returns when all processes have called it; CollectiveError where one does not come.
TESSERA_API void barrier(std::source_location loc = std::source_location::current());

}  // namespace distributed
}  // namespace tessera::inline v0
