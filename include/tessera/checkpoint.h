// Checkpoints on disk: the state of a run, step by step, as folders of safetensors files.
//
//   ts::checkpoint::save("run", 40, state);                       // run/40/
//   state = ts::checkpoint::restore("run", state);                // the newest step
//   state = ts::checkpoint::restore("run", state, {.step = 20, .mesh = mesh, .specs = P("data")});
//
// Each process writes the blocks that its devices are the first to hold, every byte once. A
// manifest with shapes, specs, checksums and key paths is put beside them, and one rename makes the
// step: until then it is not there, and a kill at any moment leaves the steps that were there. It
// is restored onto any mesh, spec and number of processes; each process reads what its devices
// need. What is read is compared with its checksums.
//
// A folder is a step if its name is a number and it holds a manifest that a finished save wrote.
// Whatever else lies in the folder is not listed, replaced or removed.
//
// Where several processes run one program, all of them call save, save_async, restore and
// restore_arrays, with the same arguments and one folder that all of them see: where arguments
// differ, all get an error. The other functions say what the calling process finds, and need no
// others.
#pragma once

#include <tessera/array.h>
#include <tessera/axis_list.h>
#include <tessera/mesh.h>
#include <tessera/message.h>
#include <tessera/partition_spec.h>
#include <tessera/remat.h>
#include <tessera/tree.h>

#include <cstdint>
#include <map>
#include <memory>
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

struct CheckpointSaveOptions {
  detail::Named named = detail::Named();
  /// What is known of the step: a CheckpointManager keeps the best by one of these.
  std::map<std::string, double> metrics = {};
  /// Text of the program's own, which `info` gives back.
  std::map<std::string, std::string> metadata = {};
  /// A step of this number that is there is replaced, at one moment; else it is an error. What no
  /// save made is not replaced.
  bool overwrite = false;
  /// Save even if this step is not a multiple of the CheckpointManager's interval.
  bool force = false;
};

struct CheckpointRestoreOptions {
  detail::Named named = detail::Named();
  /// None: the newest.
  std::optional<std::int64_t> step = {};
  /// Where the arrays go; empty: that of the scope, where there are specs. A leaf without a spec
  /// goes by the one that it was saved with, where a mesh is given here, and else to where the leaf
  /// of `like` is.
  Mesh mesh = {};
  SpecTree specs = unconstrained;
  /// Leaves whose path fits one of these patterns ("model/**") are read, the others stay as they
  /// are in `like`. None: all leaves, and the checkpoint has no others.
  std::vector<std::string> only = {};
  /// Leaves that fit one of these stay as they are where the checkpoint has none of their path.
  std::vector<std::string> may_lack = {};
  /// Where a path of the tree begins with the first, it begins with the second in the checkpoint:
  /// {{"encoder", "model/encoder"}}. The first that fits counts.
  std::vector<std::pair<std::string, std::string>> renamed = {};
  /// Compares what is read with its checksums. Without it the bytes that are needed are read and no
  /// others. All of them are of one save in any case.
  bool verify = true;
};

/// What a checkpoint says of itself.
struct CheckpointInfo {
  struct Leaf {
    std::string path;
    DType dtype{};
    Shape shape;
    /// As it lay when it was saved; no axes where it was whole.
    std::vector<Mesh::Axis> mesh;
    PartitionSpec spec;
    std::size_t blocks = 0;
  };
  struct File {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::int64_t step = 0;
  /// Seconds since 1970.
  std::int64_t time = 0;
  int processes = 1;
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> metadata;
  std::vector<Leaf> leaves;
  std::vector<File> files;
  /// Of all elements.
  std::uint64_t bytes = 0;
};

/// A save that runs in the background. The destructor waits for it, and prints to stderr a failure
/// that was not collected with wait(). The end of the process waits for it too. In a child of fork,
/// which lacks the threads of its parent, wait() is an Error.
class TESSERA_API CheckpointSaving {
 public:
  /// Of nothing.
  CheckpointSaving() = default;
  explicit CheckpointSaving(std::shared_ptr<checkpoints::Job> job) : job_(std::move(job)) {}
  ~CheckpointSaving();
  CheckpointSaving(CheckpointSaving&& other) noexcept;
  CheckpointSaving& operator=(CheckpointSaving&& other) noexcept;

  /// Returns when the step is there; throws why it is not. Error where the save was moved away.
  void wait();
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
/// Bytes that restores of this process have read of shards so far.
TESSERA_API std::uint64_t checkpoint_bytes_read();

/// The functions of ts::checkpoint that are about files.
struct TESSERA_API CheckpointFiles {
  /// Returns when the step is on the disk. IoError where it cannot be written, with what was there
  /// before kept; TraceError for leaves without values; TreeError where keys with dots or slashes
  /// make two leaves one name. Leaves that are empty are left out.
  template <class T>
  static void save(const std::string& dir, std::int64_t step, const T& tree,
                   const CheckpointSaveOptions& options = {},
                   std::source_location loc = std::source_location::current()) {
    const InFunction called("checkpoint::save", loc);
    save_checkpoint(dir, step, tree::paths(tree), tree::leaves(tree), options, loc).wait();
  }
  /// Returns at once: the arrays are held as they are now, whatever the program does with them.
  /// What a later call would write over (donation) gets new memory then, as much as a copy.
  template <class T>
  [[nodiscard]] static CheckpointSaving save_async(
      const std::string& dir, std::int64_t step, const T& tree,
      const CheckpointSaveOptions& options = {},
      std::source_location loc = std::source_location::current()) {
    const InFunction called("checkpoint::save_async", loc);
    return save_checkpoint(dir, step, tree::paths(tree), tree::leaves(tree), options, loc);
  }
  /// A tree like `like`, whose arrays may be abstract or given away: only their dtypes, shapes and
  /// places count, but for leaves that stay as they are. TreeError lists leaves that are missing,
  /// left over, or of another dtype or shape. IoError names what is damaged, by file and key path,
  /// and a step that is intact; or which file this process may not read. A step that others remove
  /// or replace meanwhile is looked for again.
  template <class T>
  static T restore(const std::string& dir, const T& like,
                   const CheckpointRestoreOptions& options = {},
                   std::source_location loc = std::source_location::current()) {
    const InFunction called("checkpoint::restore", loc);
    const std::vector<Array> leaves =
        restore_checkpoint(dir, tree::structure(like), tree::leaves(like), options, loc);
    return tree::unflatten(like, std::span<const Array>(leaves), loc);
  }
  /// All arrays by their paths, where no tree is at hand; specs and `may_lack` are not for it.
  static std::map<std::string, Array> restore_arrays(
      const std::string& dir, const CheckpointRestoreOptions& options = {},
      std::source_location loc = std::source_location::current());

  /// Ascending; none where there is no such folder.
  static std::vector<std::int64_t> all_steps(
      const std::string& dir, std::source_location loc = std::source_location::current());
  static std::optional<std::int64_t> latest_step(
      const std::string& dir, std::source_location loc = std::source_location::current());
  /// The newest step of which nothing is damaged. Reads it all. IoError where this process may not
  /// read a newer one.
  static std::optional<std::int64_t> latest_intact_step(
      const std::string& dir, std::source_location loc = std::source_location::current());
  /// IoError where there is no such step, or its manifest is damaged or may not be read.
  static CheckpointInfo info(const std::string& dir, std::int64_t step,
                             std::source_location loc = std::source_location::current());
  /// Reads all of a step and says what is damaged, a line each; none where it is intact. IoError
  /// where this process may not read it.
  static std::vector<std::string> verify(
      const std::string& dir, std::int64_t step,
      std::source_location loc = std::source_location::current());
};

}  // namespace detail

/// The functions above, as ts::checkpoint::save and so on. A name in front of :: is looked up among
/// types; the object below is for calls by the old name of remat.
struct checkpoint : detail::CheckpointFiles {
  /// The former name of ts::remat(f), for one version.
  template <class F>
  [[deprecated("ts::checkpoint(f) is called ts::remat(f) now")]] Remat<std::decay_t<F>> operator()(
      F&& f, RematOptions options = {},
      std::source_location loc = std::source_location::current()) const {
    return remat(std::forward<F>(f), std::move(options), loc);
  }
};
inline constexpr struct checkpoint checkpoint {};

}  // namespace tessera::inline v0
