// What each of several processes wrote, told by files in the folder of the step: the threads that
// write do not communicate otherwise, since the order of the program's collectives is not theirs.
#pragma once

#include "checkpoints/manifest.h"
#include "checkpoints/shard_writer.h"
#include "checkpoints/staging.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// Of one process: what it wrote, and the checksums of what each process has for itself.
struct Part {
  Written written;
  std::vector<std::vector<std::uint64_t>> own;
  std::string problem;  // why there is nothing else here
};

/// Says to the others that this process is at work on the step, for as long as somebody has what it
/// gives: a lock, which goes with the process however it ends.
Descriptor announce(const Staging& folder, int process);

/// Puts it into the folder, at one moment. Throws Trouble.
void put_part(const Staging& folder, int process, const Manifest& head, const Part& part);
/// Waits for that of another process, as long as it is at work; Trouble where it is not, and did
/// not say why. `head` is what all agreed on.
Part wait_for_part(const Staging& folder, int process, const Manifest& head);
/// Waits until the process that makes the step has made it. Trouble where it has given up, or is
/// gone.
void wait_for_step(const Staging& folder, const std::string& dir, std::int64_t step,
                   const std::string& nonce);
/// What processes said is no part of the step.
void remove_parts(const Staging& folder, int processes);

}  // namespace tessera::inline v0::checkpoints
