// Reports between the processes that write a step, as files in the step's folder. The writing
// threads must not use collectives, whose order belongs to the program's thread.
#pragma once

#include "checkpoints/manifest.h"
#include "checkpoints/shard_writer.h"
#include "checkpoints/staging.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// The report of one process: what it wrote, and the checksums of the data that each process holds
/// itself.
struct Part {
  Written written;
  std::vector<std::vector<std::uint64_t>> own;
  std::string problem;  // why the rest is missing, as report_of writes it
};

/// Announces that this process is working on the step, as long as the returned descriptor is open.
/// This is a file lock, which disappears with the process however it ends.
Descriptor announce(const Staging& folder, int process);

/// Writes the report into the folder atomically. Throws Trouble.
void put_part(const Staging& folder, int process, const Manifest& head, const Part& part);
/// Waits for the report of another process as long as that process is alive. Throws Trouble if it
/// died without a report. `head` is the manifest that all processes agreed on.
Part wait_for_part(const Staging& folder, int process, const Manifest& head);
/// Waits until the process that completes the step has done so. Throws Trouble if it gave up or
/// died.
void wait_for_step(const Staging& folder, const std::string& dir, std::int64_t step,
                   const std::string& nonce);
/// Removes the reports, which are not part of the step.
void remove_parts(const Staging& folder, int processes);

}  // namespace tessera::inline v0::checkpoints
