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
/// Ascending, of steps in ascending order.
std::vector<std::int64_t> to_remove(const std::vector<Saved>& steps,
                                    const CheckpointManagerOptions& options);

/// The steps of a folder with their metrics, and what of them is kept. Manifests are read once.
class Retention {
 public:
  Retention(std::string dir, CheckpointManagerOptions options)
      : dir_(std::move(dir)), options_(std::move(options)) {}
  std::vector<Saved> steps();
  /// A step was made; removes what the options do not keep. IoError where that cannot be done.
  void made(std::int64_t step);

 private:
  const std::string dir_;
  const CheckpointManagerOptions options_;
  std::mutex removing_, mutex_;
  std::map<std::int64_t, std::optional<double>> metrics_;
};

}  // namespace tessera::inline v0::checkpoints
