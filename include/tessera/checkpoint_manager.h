// CheckpointManager saves the checkpoints of a run in the background and decides which ones to
// keep.
//
//   ts::CheckpointManager checkpoints("run", {.max_to_keep = 3, .save_interval_steps = 100});
//   if (checkpoints.latest_step()) state = checkpoints.restore(state);
//   for (std::int64_t i = state.step.item<std::int64_t>(); i < steps; ++i) {
//     state = step(std::move(state), batch(i));
//     checkpoints.save(i + 1, state);          // returns at once; every hundredth is written
//   }
//   checkpoints.wait();                        // for the last save
#pragma once

#include <tessera/checkpoint.h>
#include <memory>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// Whether the smallest or the largest metric is the best.
enum class BestMode { min, max };

/// Which steps a CheckpointManager saves, how, and which it keeps.
struct CheckpointManagerOptions {
  detail::Named named = detail::Named();
  /// Keep only this many of the newest steps, besides those that the next two options keep. The
  /// default keeps all. Only undamaged steps that were saved into the folder are ever removed.
  std::optional<int> max_to_keep = {};
  /// Steps that are multiples of this number are never removed.
  std::optional<std::int64_t> keep_period = {};
  /// Keep this many of the best steps, by a metric that is passed to save.
  int keep_best = 0;
  /// The name of the metric, and whether its smallest or its largest value is the best.
  std::string best_metric = {};
  /// Whether the smallest or the largest metric is the best.
  BestMode best_mode = BestMode::min;
  /// Only multiples of this number are saved, unless save is called with `force`.
  std::int64_t save_interval_steps = 1;
  /// Save in the background.
  bool async = true;
  /// The most saves in progress at a time; a further one waits. Each save keeps its arrays alive.
  int max_in_flight = 1;
  /// The behaviour if a run is resumed from an earlier step and the folder holds later ones. By
  /// default saving is then an error. If this is set, later steps that exist when a save begins are
  /// removed once its step is published, and an existing step with its own number is replaced.
  bool discard_later_steps = false;
};

namespace checkpoints {
class Manager;  // src/checkpoints/manager.cc
}

/// Manages one folder from one thread. With several processes, each has a manager and all of them
/// make the same calls. The destructor waits for saves in progress. A moved-from manager throws
/// Error.
class TESSERA_API CheckpointManager {
 public:
  /// The folder is created by the first save. Throws IoError if the options are inconsistent.
  explicit CheckpointManager(std::string dir, CheckpointManagerOptions options = {},
                             std::source_location loc = std::source_location::current());
  ~CheckpointManager();
  CheckpointManager(CheckpointManager&&) noexcept;
  CheckpointManager& operator=(CheckpointManager&&) noexcept;

  /// Whether the step is a multiple of the save interval.
  bool should_save(std::int64_t step,
                   std::source_location loc = std::source_location::current()) const;
  /// Returns false if the step is not to be saved. Throws the error of an earlier background save,
  /// and then does not save this step. Throws IoError if the folder has later steps, unless this
  /// step is replaced deliberately ({.overwrite = true}) or `discard_later_steps` is set. A saved
  /// step remains at least until this manager has saved another one, whatever else the folder
  /// holds.
  template <class T>
  bool save(std::int64_t step, const T& tree, const CheckpointSaveOptions& options = {},
            std::source_location loc = std::source_location::current()) {
    const InFunction called("CheckpointManager::save", loc);
    if (!should_save(step, loc) && !options.force) return false;
    save_leaves(step, tree::paths(tree), tree::leaves(tree), options, loc);
    return true;
  }
  /// Waits for saves in progress, then works like checkpoint::restore.
  template <class T>
  T restore(const T& like, const CheckpointRestoreOptions& options = {},
            std::source_location loc = std::source_location::current()) {
    wait(loc);
    T tree = detail::CheckpointFiles::restore(place(loc), like, options, loc);
    restored(loc);
    return tree;
  }
  /// Returns when every saved step is published, or throws the error of one, once.
  void wait(std::source_location loc = std::source_location::current());

  /// The folder as given. A relative path refers to the process's working directory at
  /// construction.
  const std::string& directory(std::source_location loc = std::source_location::current()) const;
  /// The steps that this process currently finds, in ascending order.
  std::vector<std::int64_t> all_steps(
      std::source_location loc = std::source_location::current()) const;
  /// The newest step of the folder; none if there is no step.
  std::optional<std::int64_t> latest_step(
      std::source_location loc = std::source_location::current()) const;
  /// The best step by the metric; none if no step has the metric.
  std::optional<std::int64_t> best_step(
      std::source_location loc = std::source_location::current()) const;

 private:
  void save_leaves(std::int64_t step, const std::vector<std::string>& paths,
                   const std::vector<Array>& leaves, const CheckpointSaveOptions& options,
                   std::source_location loc);
  void restored(std::source_location loc);
  const std::string& place(std::source_location loc) const;
  std::unique_ptr<checkpoints::Manager> manager_;
};

}  // namespace tessera::inline v0
