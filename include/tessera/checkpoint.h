// Checkpoints on disk: the state of a run at several steps, each stored as a folder of safetensors
// files.
//
//   ts::checkpoint::save("run", 40, state);                       // run/40/
//   state = ts::checkpoint::restore("run", state);                // the newest step
//   state = ts::checkpoint::restore("run", state, {.step = 20, .mesh = mesh, .specs = P("data")});
//
// Each process writes the blocks whose first replica is on one of its devices, so every byte is
// written once. A manifest with shapes, specs, checksums and key paths is stored beside them, and a
// single rename publishes the step: a process killed at any moment leaves earlier steps intact. A
// checkpoint can be restored onto any mesh, spec and number of processes; each process reads only
// what its devices need, and verifies it against the checksums.
//
// A folder is a step if its name is a number and it holds the manifest of a finished save. Other
// files and folders are never listed, replaced or removed.
//
// If several processes run one program, all of them must call save, save_async, restore and
// restore_arrays with the same arguments and a shared folder; if the arguments differ, all of them
// get an error. The other functions report what the calling process finds and need no other
// process.
#pragma once

#include <tessera/array.h>
#include <tessera/axis_list.h>
#include <tessera/mesh.h>
#include <tessera/message.h>
#include <tessera/partition_spec.h>
#include <tessera/remat.h>
#include <tessera/tree.h>
#include <memory>

#include <cstdint>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

namespace checkpoints {
class Job;  // src/checkpoints/job.h
}

/// The options of checkpoint::save, checkpoint::save_async and CheckpointManager::save.
struct CheckpointSaveOptions {
  detail::Named named = detail::Named();
  /// Metrics of the step; a CheckpointManager keeps the best steps by one of them.
  std::map<std::string, double> metrics = {};
  /// The user's own text entries, which `info` returns.
  std::map<std::string, std::string> metadata = {};
  /// Replace an existing step of this number, atomically; otherwise an existing step is an error. A
  /// folder that is not a step is never replaced.
  bool overwrite = false;
  /// Save even if this step is not a multiple of the CheckpointManager's interval.
  bool force = false;
};

/// The options of checkpoint::restore and CheckpointManager::restore.
struct CheckpointRestoreOptions {
  detail::Named named = detail::Named();
  /// The step to restore. The default is the newest.
  std::optional<std::int64_t> step = {};
  /// The mesh for the restored arrays. If empty, the mesh of the scope is used for leaves that have
  /// a spec. A leaf without a spec uses the spec that it was saved with if a mesh is given here,
  /// and otherwise the sharding of the leaf of `like`.
  Mesh mesh = {};
  SpecTree specs = unconstrained;
  /// Only leaves whose path matches one of these patterns ("model/**") are read; the others keep
  /// their values in `like`. If empty, all leaves are read, and the checkpoint may not contain
  /// others.
  std::vector<std::string> only = {};
  /// Leaves that match one of these patterns keep their values in `like` if the checkpoint does not
  /// contain them.
  std::vector<std::string> may_lack = {};
  /// Pairs of path prefixes, in the tree and in the checkpoint: {{"encoder", "model/encoder"}}. The
  /// first pair that matches a path is used.
  std::vector<std::pair<std::string, std::string>> renamed = {};
  /// Verify checksums, which requires reading whole chunks. Otherwise only the needed bytes are
  /// read. In both cases all bytes come from a single save.
  bool verify = true;
};

/// The description of a checkpoint.
struct CheckpointInfo {
  /// A leaf of the saved tree.
  struct Leaf {
    /// The leaf's path in the tree: "model/layers/0/weight".
    std::string path;
    DType dtype{};
    Shape shape;
    /// The mesh and spec with which the leaf was saved; no axes if it was not sharded.
    std::vector<Mesh::Axis> mesh;
    PartitionSpec spec;
    std::size_t blocks = 0;
  };
  /// A file of the step's folder.
  struct File {
    /// The file's name within the folder.
    std::string name;
    /// The file's size in bytes.
    std::uint64_t bytes = 0;
  };
  /// The number of the step.
  std::int64_t step = 0;
  /// Seconds since 1970-01-01 UTC.
  std::int64_t time = 0;
  /// How many processes saved it.
  int processes = 1;
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> metadata;
  std::vector<Leaf> leaves;
  std::vector<File> files;
  /// The size of all leaves' elements.
  std::uint64_t bytes = 0;
};

/// A save that runs in the background. The destructor waits for it, and prints to stderr any
/// failure that was not collected with wait(). Process exit also waits for it. In a forked child,
/// which lacks its parent's threads, wait() throws Error.
class TESSERA_API CheckpointSaving {
 public:
  /// An empty object without a save.
  CheckpointSaving() = default;
  explicit CheckpointSaving(std::shared_ptr<checkpoints::Job> job) : job_(std::move(job)) {}
  ~CheckpointSaving();
  CheckpointSaving(CheckpointSaving&& other) noexcept;
  CheckpointSaving& operator=(CheckpointSaving&& other) noexcept;

  /// Returns when the step is published, or throws the reason why it was not. Throws Error if this
  /// object was moved from.
  void wait();
  /// Whether the save has ended, successfully or not. It does not wait.
  bool is_done() const;

 private:
  std::shared_ptr<checkpoints::Job> job_;
  bool moved_ = false;
};

namespace detail {

TESSERA_API CheckpointSaving save_checkpoint(const std::string& dir, std::int64_t step,
                                             const std::vector<std::string>& paths,
                                             const std::vector<Array>& leaves,
                                             const CheckpointSaveOptions& options,
                                             std::source_location loc);
TESSERA_API std::vector<Array> restore_checkpoint(const std::string& dir, const TreeDef& tree,
                                                  const std::vector<Array>& like,
                                                  const CheckpointRestoreOptions& options,
                                                  std::source_location loc);
/// Shard bytes read so far by all restores of this process.
TESSERA_API std::uint64_t checkpoint_bytes_read();

/// The functions of ts::checkpoint that work on files.
struct TESSERA_API CheckpointFiles {
  /// Returns when the step is on disk. Empty leaves are skipped. Throws IoError if it cannot be
  /// written, in which case earlier contents are kept; TraceError for leaves without values;
  /// TreeError if keys with dots or slashes give two leaves the same name.
  template <class T>
  static void save(const std::string& dir, std::int64_t step, const T& tree,
                   const CheckpointSaveOptions& options = {},
                   std::source_location loc = std::source_location::current()) {
    const InFunction called("checkpoint::save", loc);
    save_checkpoint(dir, step, tree::paths(tree), tree::leaves(tree), options, loc).wait();
  }
  /// Returns at once and saves the current values, whatever the program does afterwards. A later
  /// call that would overwrite these arrays (donation) gets newly allocated memory instead, as much
  /// as a copy would take.
  template <class T>
  [[nodiscard]] static CheckpointSaving save_async(
      const std::string& dir, std::int64_t step, const T& tree,
      const CheckpointSaveOptions& options = {},
      std::source_location loc = std::source_location::current()) {
    const InFunction called("checkpoint::save_async", loc);
    return save_checkpoint(dir, step, tree::paths(tree), tree::leaves(tree), options, loc);
  }
  /// Returns a tree like `like`, whose arrays may be abstract or donated: only their dtypes, shapes
  /// and shardings matter, except for leaves that keep their values. Throws TreeError listing
  /// leaves that are missing, superfluous, or of another dtype or shape. Throws IoError naming the
  /// damage by file and key path, and an intact step; or naming a file that this process may not
  /// read. If another process removes or replaces the step meanwhile, it is looked up again.
  template <class T>
  static T restore(const std::string& dir, const T& like,
                   const CheckpointRestoreOptions& options = {},
                   std::source_location loc = std::source_location::current()) {
    const InFunction called("checkpoint::restore", loc);
    const std::vector<Array> leaves =
        restore_checkpoint(dir, tree::structure(like), tree::leaves(like), options, loc);
    return tree::unflatten(like, leaves, loc);
  }
  /// Returns all arrays by path, for use without a tree; it accepts neither specs nor `may_lack`.
  static std::map<std::string, Array> restore_arrays(
      const std::string& dir, const CheckpointRestoreOptions& options = {},
      std::source_location loc = std::source_location::current());

  /// All steps in ascending order; empty if there is no such folder.
  static std::vector<std::int64_t> all_steps(
      const std::string& dir, std::source_location loc = std::source_location::current());
  static std::optional<std::int64_t> latest_step(
      const std::string& dir, std::source_location loc = std::source_location::current());
  /// Returns the newest undamaged step, reading all data of the steps it checks. Throws IoError if
  /// this process may not read a newer one.
  static std::optional<std::int64_t> latest_intact_step(
      const std::string& dir, std::source_location loc = std::source_location::current());
  /// Throws IoError if there is no such step, or if its manifest is damaged or unreadable.
  static CheckpointInfo info(const std::string& dir, std::int64_t step,
                             std::source_location loc = std::source_location::current());
  /// Reads a whole step and returns one line per damage, none if it is intact. Throws IoError if
  /// this process may not read it.
  static std::vector<std::string> verify(
      const std::string& dir, std::int64_t step,
      std::source_location loc = std::source_location::current());
};

}  // namespace detail

/// The functions above as ts::checkpoint::save and so on. Both a type and an object have this name:
/// name lookup before :: finds the type, and the object allows calls by the old name of remat.
struct checkpoint : detail::CheckpointFiles {
  /// The former name of ts::remat(f), kept for one version.
  template <class F>
  [[deprecated("ts::checkpoint(f) is called ts::remat(f) now")]] Remat<std::decay_t<F>> operator()(
      F&& f, RematOptions options = {},
      std::source_location loc = std::source_location::current()) const {
    return remat(std::forward<F>(f), std::move(options), loc);
  }
};
inline constexpr struct checkpoint checkpoint {};

}  // namespace tessera::inline v0
