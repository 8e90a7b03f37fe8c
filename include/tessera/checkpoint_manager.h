// The checkpoints of a run: saved while it goes on, kept by a policy.
//
//   ts::CheckpointManager checkpoints("run", {.max_to_keep = 3, .save_interval_steps = 100});
//   if (checkpoints.latest_step()) state = checkpoints.restore(state);
//   for (std::int64_t i = state.step.item<std::int64_t>(); i < steps; ++i) {
//     state = step(std::move(state), batch(i));
//     checkpoints.save(i + 1, state);          // returns at once; every hundredth is written
//   }
//   checkpoints.wait();                        // the last one is there
#pragma once

#include <tessera/checkpoint.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

enum class BestMode { min, max };

struct CheckpointManagerOptions {
  detail::Named named = detail::Named();
  /// Only the newest so many are kept, and those that the next two keep. None: all. Nothing is
  /// removed but sound steps that were saved into the folder.
  std::optional<int> max_to_keep = {};
  /// Multiples of it are kept for good.
  std::optional<std::int64_t> keep_period = {};
  /// So many of the best are kept, by a metric that is passed to save.
  int keep_best = 0;
  std::string best_metric = {};
  BestMode best_mode = BestMode::min;
  /// Steps that are no multiple of it are not saved, but where save is told to.
  std::int64_t save_interval_steps = 1;
  /// The program goes on while a step is written.
  bool async = true;
  /// Saves under way at most: the next one waits. Each holds its arrays.
  int max_in_flight = 1;
  /// A run that goes on from an earlier step leaves later ones behind. Saving beside them is an
  /// error, unless this is set: then those that are there when a save begins are removed as soon as
  /// its step is there, and a step of its own number is replaced.
  bool discard_later_steps = false;
};

namespace checkpoints {
class Manager;  // src/checkpoints/manager.cc
}

/// Of one folder, for one thread; where processes are several, each has one, and all of them make
/// the same calls. Its destructor waits for what is under way. A manager that was moved away throws
/// Error.
class TESSERA_API CheckpointManager {
 public:
  /// IoError where options make no sense. The folder is made by the first save.
  explicit CheckpointManager(std::string dir, CheckpointManagerOptions options = {},
                             std::source_location loc = std::source_location::current());
  ~CheckpointManager();
  CheckpointManager(CheckpointManager&&) noexcept;
  CheckpointManager& operator=(CheckpointManager&&) noexcept;

  /// Whether the interval includes the step.
  bool should_save(std::int64_t step,
                   std::source_location loc = std::source_location::current()) const;
  /// False where the step is not to be saved. Throws what went wrong with an earlier one that was
  /// written behind the program's back; this one is not saved then. IoError where the folder has
  /// later steps, but for a step that is replaced on purpose ({.overwrite = true}), and with
  /// `discard_later_steps`. A step that was made is there until this manager has made another one,
  /// whatever else lies in the folder.
  template <class T>
  bool save(std::int64_t step, const T& tree, const CheckpointSaveOptions& options = {},
            std::source_location loc = std::source_location::current()) {
    const InFunction called("CheckpointManager::save", loc);
    if (!should_save(step, loc) && !options.force) return false;
    save_leaves(step, tree::paths(tree), tree::leaves(tree), options, loc);
    return true;
  }
  /// As checkpoint::restore, when what is under way is there.
  template <class T>
  T restore(const T& like, const CheckpointRestoreOptions& options = {},
            std::source_location loc = std::source_location::current()) {
    wait(loc);
    T tree = detail::CheckpointFiles::restore(place(loc), like, options, loc);
    restored(loc);
    return tree;
  }
  /// Returns when every step that was saved is there; throws what went wrong, once.
  void wait(std::source_location loc = std::source_location::current());

  /// As it was given. A path that does not begin at the root is of the working directory that the
  /// process had when the manager was made.
  const std::string& directory(std::source_location loc = std::source_location::current()) const;
  /// The steps that this process finds there now, ascending.
  std::vector<std::int64_t> all_steps(
      std::source_location loc = std::source_location::current()) const;
  std::optional<std::int64_t> latest_step(
      std::source_location loc = std::source_location::current()) const;
  /// By the metric; none where no step has it.
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
