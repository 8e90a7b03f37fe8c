// From a step on the disk to arrays on devices.
#pragma once

#include "checkpoint/manifest.h"

#include <tessera/array.h>
#include <tessera/message.h>
#include <tessera/sharding.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// An entry that is wanted, and where; nowhere: whole, and not committed.
struct Wanted {
  std::size_t entry = 0;
  std::optional<Sharding> where;
};

/// Reads what the devices of this process need. IoError names what is damaged, and a step that is
/// intact.
std::vector<Array> read_arrays(const std::string& dir, const Manifest& manifest,
                               const std::vector<Wanted>& wanted, bool verify,
                               const SourceLoc& loc);

/// The step that is asked for, or the newest; IoError that lists those that are there.
std::int64_t choose_step(const char* function, const std::string& dir,
                         std::optional<std::int64_t> step, const SourceLoc& loc);
/// The IoError of a step that is damaged.
[[noreturn]] void refuse_damaged(const char* function, const std::string& dir, std::int64_t step,
                                 const std::vector<std::string>& problems, const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
