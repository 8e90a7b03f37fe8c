// Which steps are kept.
#pragma once

#include <tessera/checkpoint_manager.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// A step that is there, and its metric where it has one.
struct Saved {
  std::int64_t step = 0;
  std::optional<double> metric = {};
};

/// The best first; steps without a metric, and with NaN, are left out. Of equal ones the newer is
/// the better.
std::vector<std::int64_t> by_merit(std::vector<Saved> steps, BestMode mode);
/// Ascending, of steps in ascending order. `made`, the last one that was made, is kept in any case.
std::vector<std::int64_t> to_remove(const std::vector<Saved>& steps, std::int64_t made,
                                    const CheckpointManagerOptions& options);

/// The steps of a folder with their metrics, and which of them are kept. Only sound steps that were
/// saved in this folder count, and no others are removed. A manifest is read once.
class Retention {
 public:
  Retention(std::string dir, CheckpointManagerOptions options)
      : dir_(std::move(dir)), options_(std::move(options)) {}
  std::vector<Saved> steps();
  /// The `number`th save of this manager made a step; `later` ones were there when it began.
  /// Removes what the options do not keep. IoError where that cannot be done.
  void made(std::int64_t step, std::uint64_t number, const std::vector<std::int64_t>& later);

 private:
  void remove(std::int64_t step, const std::string& rule);

  const std::string dir_;
  const CheckpointManagerOptions options_;
  std::mutex removing_;
  // Saves may end in another order than they began in.
  std::uint64_t last_number_ = 0;
  std::int64_t last_made_ = 0;

  // What is known of a step's manifest, as long as that is the same file.
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
