// Decides which steps are kept.
#pragma once

#include <tessera/checkpoint_manager.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// An existing step and its metric, if it has one.
struct Saved {
  std::int64_t step = 0;
  std::optional<double> metric = {};
};

/// Sorted best first. Steps whose metric is missing or NaN are left out. Of equal ones, the newer
/// is better.
std::vector<std::int64_t> by_merit(std::vector<Saved> steps, BestMode mode);
/// The steps to remove, ascending, given `steps` in ascending order. `made`, the step that was made
/// last, is always kept.
std::vector<std::int64_t> to_remove(const std::vector<Saved>& steps, std::int64_t made,
                                    const CheckpointManagerOptions& options);

/// The steps of a folder with their metrics, and the removal of those that are not kept. Only
/// intact steps that were saved in this folder are considered. Each manifest is read once.
class Retention {
 public:
  Retention(std::string dir, CheckpointManagerOptions options)
      : dir_(std::move(dir)), options_(std::move(options)) {}
  std::vector<Saved> steps();
  /// Called after the manager's save with number `number` made a step; `later` are the later steps
  /// that existed when it began. Removes the steps that the options do not keep. Throws IoError if
  /// that fails.
  void made(std::int64_t step, std::uint64_t number, const std::vector<std::int64_t>& later);

 private:
  void remove(std::int64_t step, const std::string& rule);

  const std::string dir_;
  const CheckpointManagerOptions options_;
  std::mutex removing_;
  // Saves may finish in a different order than they began.
  std::uint64_t last_number_ = 0;
  std::int64_t last_made_ = 0;

  // Identifies a manifest file, whose content is cached as long as the file is the same.
  struct Known {
    std::uint64_t device = 0, node = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Known&) const = default;
  };
  struct Read {
    Known of;
    bool sound = false;
    std::optional<double> metric;
  };
  static Known known(const std::string& dir, std::int64_t step);
  std::mutex mutex_;
  std::map<std::int64_t, Read> read_;
};

}  // namespace tessera::inline v0::checkpoints
