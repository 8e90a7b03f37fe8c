#include <tessera/checkpoint.h>

#include "checkpoints/agreement.h"
#include "checkpoints/job.h"
#include "checkpoints/restore.h"
#include "checkpoints/shard_reader.h"
#include "checkpoints/staging.h"
#include "checkpoints/step_folder.h"

#include <tessera/detail/input_file.h>
#include <tessera/detail/moved.h>
#include <tessera/device.h>
#include <tessera/distributed.h>
#include <tessera/sharding.h>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <set>
#include <utility>

namespace tessera::inline v0 {

namespace {

using namespace checkpoints;

constexpr const char* kRestore = "checkpoint::restore";

std::string saved_path(const std::string& path, const CheckpointRestoreOptions& options) {
  for (const auto& [here, there] : options.renamed) {
    if (path == here) return there;
    if (here.empty()) return there + "/" + path;
    if (path.starts_with(here + "/"))
      return there.empty() ? path.substr(here.size() + 1) : there + path.substr(here.size());
  }
  return path;
}

bool fits_any(const std::vector<std::string>& patterns, const std::string& path) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& p) { return detail::fits_pattern(p, path); });
}

std::string shown(const std::string& path) { return path.empty() ? "the value" : path; }
std::string type_text(DType dtype, const Shape& shape) {
  return std::string(name_of(dtype)) + to_string(shape);
}

// The sharding of a leaf; absent if it is on the default device, where new arrays are created.
std::optional<Sharding> place_of(const Array& like) {
  if (!like.is_concrete()) return {};
  Sharding s = like.sharding();
  if (s.devices().size() == 1 && s.mesh().axes().empty() && s.devices()[0] == local_devices().at(0))
    return {};
  return s;
}

// Matches leaves to entries of the manifest; absent for leaves that are not restored.
class Match {
 public:
  Match(const std::string& dir, const Manifest& manifest, const std::vector<std::string>& paths,
        const std::vector<Array>& like, const CheckpointRestoreOptions& options,
        const SourceLoc& loc)
      : entries(paths.size()) {
    std::map<std::string, std::size_t> by_path;
    for (std::size_t i = 0; i < manifest.entries.size(); ++i) by_path[manifest.entries[i].path] = i;
    std::set<std::size_t> used;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (like[i].is_empty()) continue;
      if (!options.only.empty() && !fits_any(options.only, paths[i])) continue;
      const std::string there = saved_path(paths[i], options);
      const auto found = by_path.find(there);
      if (found == by_path.end()) {
        if (!fits_any(options.may_lack, paths[i]))
          bad(shown(paths[i]) + " is missing" +
              (there == paths[i] ? "" : ": there is no " + shown(there)));
        continue;
      }
      const Entry& e = manifest.entries[found->second];
      if (e.shape != like[i].shape() || e.dtype != like[i].dtype())
        bad(shown(paths[i]) + " is " + type_text(e.dtype, e.shape) + ", and in the tree " +
            type_text(like[i].dtype(), like[i].shape()));
      entries[i] = found->second;
      used.insert(found->second);
    }
    if (options.only.empty())
      for (std::size_t i = 0; i < manifest.entries.size(); ++i)
        if (!used.count(i)) bad(shown(manifest.entries[i].path) + " is not in the tree");
    for (const std::string& pattern : options.only)
      if (std::ranges::none_of(
              paths, [&](const std::string& p) { return detail::fits_pattern(pattern, p); }))
        bad("the pattern '" + pattern + "' fits no leaf");
    if (sound_) return;
    message_
        .problem(fmt::format("step {} of {} does not fit the tree", manifest.step,
                             detail::shown_path(dir)))
        .rule("an array for each leaf, of its dtype and shape")
        .from(loc)
        .advice(
            "build the tree with the settings that it was saved with, or restore a part: "
            "{.only = {\"model/**\"}}")
        .raise<TreeError>();
  }

  std::vector<std::optional<std::size_t>> entries;

 private:
  void bad(std::string offender) {
    message_.offender(std::move(offender));
    sound_ = false;
  }
  Message message_{kRestore};
  bool sound_ = true;
};

Mesh mesh_of(const CheckpointRestoreOptions& options, const SourceLoc& loc) {
  const Mesh mesh = options.mesh.empty() ? current_mesh() : options.mesh;
  if (mesh.empty())
    Message(kRestore)
        .problem("there is no mesh for the specs")
        .rule("a spec names axes of a mesh: one that is passed, or that of the scope")
        .from(loc)
        .advice("{.mesh = mesh, ...}, or const auto scope = use_mesh(mesh)")
        .raise<ShardingError>();
  return mesh;
}

// Throws ShardingError that lists all leaves which do not divide evenly.
void need_fit(const Manifest& manifest, const std::vector<RequestedLeaf>& wanted,
              const SourceLoc& loc) {
  Message m(kRestore);
  bool fits = true;
  for (const RequestedLeaf& w : wanted) {
    if (!w.where) continue;
    const Entry& e = manifest.entries[w.entry];
    try {
      (void)w.where->shard_shape(e.shape);
    } catch (const ShardingError& error) {
      m.offender(shown(e.path) + ": " + error.problem());
      fits = false;
    }
  }
  if (fits) return;
  m.problem("arrays do not divide over the mesh")
      .rule("each dimension is a multiple of the devices along the axes that cut it")
      .from(loc)
      .advice("cut another dimension, or leave it whole: {.specs = P()}")
      .raise<ShardingError>();
}

// The placement of a leaf of `like`, to which the restored array goes.
std::string place_text(const Array& like) {
  if (!like.is_concrete()) return "without a place";
  const Sharding s = like.sharding();
  const bool own = std::ranges::all_of(
      s.devices(), [](const Device& d) { return process_of(d) == process_index(); });
  return own ? "in each process" : to_string(s);
}
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& t : texts) all += (all.empty() ? "'" : ", '") + t + "'";
  return all.empty() ? "nothing" : all;
}

// Everything that must be equal in all processes when they restore together.
Asked asked_of(const std::string& dir, const CheckpointRestoreOptions& options,
               const std::vector<std::string>& paths, const std::vector<Array>& like,
               const std::vector<std::optional<PartitionSpec>>& specs) {
  Asked asked;
  if (process_count() == 1) return asked;
  std::vector<std::string>& lines = asked.lines;
  lines.push_back("folder " + detail::shown_path(
                                  dir.find('\0') == std::string::npos ? absolute_path(dir) : dir));
  lines.push_back(options.step ? fmt::format("step {}", *options.step) : "the newest step");
  lines.push_back("only " + (options.only.empty() ? "all" : joined(options.only)));
  lines.push_back("may_lack " + joined(options.may_lack));
  for (const auto& [here, there] : options.renamed)
    lines.push_back(fmt::format("renamed '{}' to '{}'", here, there));
  lines.push_back(options.verify ? "verify" : "not verify");
  // The mesh of the scope matters only if there are specs.
  const bool placed = std::ranges::any_of(specs, [](const auto& s) { return s.has_value(); });
  const Mesh mesh = options.mesh.empty() && placed ? current_mesh() : options.mesh;
  lines.push_back(mesh.empty() ? "no mesh" : to_string(mesh));
  for (std::size_t i = 0; i < like.size(); ++i)
    lines.push_back(
        like[i].is_empty()
            ? paths[i] + " empty"
            : fmt::format("{} {} {}{}", paths[i], type_text(like[i].dtype(), like[i].shape()),
                          place_text(like[i]), specs[i] ? " to " + to_string(*specs[i]) : ""));
  return asked;
}

[[noreturn]] void refuse_other(const std::string& dir, std::int64_t step, const SourceLoc& loc) {
  Message(kRestore)
      .problem(fmt::format("step {} of {} is of another save than in process 0", step,
                           detail::shown_path(dir)))
      .rule("all processes read one step of one folder")
      .from(loc)
      .advice("restore from a folder of a file system that all processes have")
      .raise<IoError>();
}
[[noreturn]] void refuse_torn(const std::string& dir, std::int64_t step, const SourceLoc& loc) {
  Message(kRestore)
      .problem(fmt::format("files of step {} of {} were written over while they were read", step,
                           detail::shown_path(dir)))
      .rule("all that is read is of one save")
      .from(loc)
      .advice("restore when whoever writes there is done")
      .raise<IoError>();
}
std::exception_ptr no_memory(const std::string& dir, std::int64_t step, const SourceLoc& loc) {
  try {
    Message(kRestore)
        .problem(fmt::format("there is no memory to restore step {} of {}", step,
                             detail::shown_path(dir)))
        .rule("a process has memory for the blocks of its devices")
        .from(loc)
        .advice("restore it on more devices, or a part of the tree: {.only = {\"model/**\"}}")
        .raise<DeviceError>();
  } catch (...) {
    return std::current_exception();
  }
}

// Reads the same save in all processes: the first process chooses the step, and the others look for
// the same save. If it is removed or replaced before all have read it, they start over. `read`
// takes the open step and returns a RestoredArrays.
template <class Read>
RestoredArrays in_agreement(const std::string& dir, const CheckpointRestoreOptions& options,
                            const SourceLoc& loc, const std::function<Asked()>& asked, Read read) {
  for (int tries = 1;; ++tries) {
    StepFolder folder;
    Asked lines;
    Said mine;
    try {
      lines = asked();
      if (process_index() == 0) {
        folder = open_step(kRestore, dir, options.step, loc);
        mine.first = static_cast<std::uint64_t>(folder.manifest().step);
        mine.second = *folder.mark();
      }
    } catch (...) {
      mine.error = std::current_exception();
    }
    const Said first = agree(kRestore, "restore from " + detail::shown_path(dir), mine, lines, loc);
    const auto step = static_cast<std::int64_t>(first.first);
    mine = {};
    RestoredArrays out;
    try {
      if (process_index() != 0) folder = StepFolder(dir, step);
      // The step is from another save or unreadable, perhaps because it is being changed. Try
      // again.
      if (folder.problem() || folder.mark() != first.second) {
        mine.again = tries < kTries && (!folder.problem() || !folder.is_current());
        if (!mine.again && folder.problem())
          refuse_step(kRestore, dir, step, {*folder.problem()}, loc);
        if (!mine.again) refuse_other(dir, step, loc);
      } else {
        out = read(folder);
        const bool changed =
            out.problems.empty() ? !options.verify && folder.is_torn() : !folder.is_current();
        mine.again = changed && tries < kTries;
        if (!mine.again && !out.problems.empty())
          refuse_step(kRestore, dir, step, out.problems, loc);
        if (!mine.again && changed) refuse_torn(dir, step, loc);
      }
    } catch (const std::bad_alloc&) {
      mine.error = no_memory(dir, step, loc);
    } catch (...) {
      mine.error = std::current_exception();
    }
    const std::string doing = fmt::format("restore step {} of {}", step, detail::shown_path(dir));
    if (!agree(kRestore, doing, mine, {}, loc).again) return out;
  }
}

// The sharding of an array on `mesh` by the spec that it was saved with.
std::optional<Sharding> as_saved(const Entry& e, const Mesh& mesh) {
  if (mesh.empty()) return {};
  return Sharding(mesh, e.spec);
}

}  // namespace

CheckpointSaving::~CheckpointSaving() {
  if (!job_ || job_->is_settled()) return;
  try {
    job_->wait();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
}
CheckpointSaving::CheckpointSaving(CheckpointSaving&& other) noexcept
    : job_(std::move(other.job_)), moved_(std::exchange(other.moved_, true)) {}
CheckpointSaving& CheckpointSaving::operator=(CheckpointSaving&& other) noexcept {
  // The swapped-out save is waited for by the other object.
  std::swap(job_, other.job_);
  moved_ = std::exchange(other.moved_, !other.job_);
  return *this;
}
void CheckpointSaving::wait() {
  if (moved_) detail::moved_from("CheckpointSaving");
  if (job_) job_->wait();
}
bool CheckpointSaving::is_done() const {
  if (moved_) detail::moved_from("CheckpointSaving");
  return !job_ || job_->is_done();
}

namespace detail {

CheckpointSaving save_checkpoint(const std::string& dir, std::int64_t step,
                                 const std::vector<std::string>& paths,
                                 const std::vector<Array>& leaves,
                                 const CheckpointSaveOptions& options, std::source_location loc) {
  return CheckpointSaving(Job::begin({dir, step, paths, leaves, options, loc}));
}

std::vector<Array> restore_checkpoint(const std::string& dir, const TreeDef& tree,
                                      const std::vector<Array>& like,
                                      const CheckpointRestoreOptions& options,
                                      std::source_location loc) {
  const std::vector<std::string> paths = tree.paths();
  std::vector<std::optional<PartitionSpec>> specs;
  const auto asked = [&] {
    specs = specs_by_leaf(kRestore, options.specs, tree, "tree", loc);
    return asked_of(dir, options, paths, like, specs);
  };
  const auto read = [&](const StepFolder& folder) {
    const Manifest& manifest = folder.manifest();
    const Match match(dir, manifest, paths, like, options, loc);
    std::vector<RequestedLeaf> wanted;
    std::vector<std::size_t> leaves;
    for (std::size_t i = 0; i < like.size(); ++i) {
      if (!match.entries[i]) continue;
      const Entry& e = manifest.entries[*match.entries[i]];
      RequestedLeaf w{*match.entries[i], {}};
      if (specs[i])
        w.where = Sharding(mesh_of(options, loc), *specs[i], loc);
      else
        w.where = options.mesh.empty() ? place_of(like[i]) : as_saved(e, options.mesh);
      wanted.push_back(std::move(w));
      leaves.push_back(i);
    }
    need_fit(manifest, wanted, loc);
    RestoredArrays out = read_arrays(folder, wanted, options.verify, loc);
    if (!out.problems.empty()) return out;
    std::vector<Array> all = like;
    for (std::size_t i = 0; i < leaves.size(); ++i) all[leaves[i]] = out.arrays[i];
    return RestoredArrays{std::move(all), {}};
  };
  return in_agreement(dir, options, loc, asked, read).arrays;
}

std::uint64_t checkpoint_bytes_read() { return bytes_read(); }

std::map<std::string, Array> CheckpointFiles::restore_arrays(
    const std::string& dir, const CheckpointRestoreOptions& options, std::source_location loc) {
  const InFunction called("checkpoint::restore_arrays", loc);
  std::vector<std::string> paths;
  const auto asked = [&] { return asked_of(dir, options, {}, {}, {}); };
  const RestoredArrays out = in_agreement(dir, options, loc, asked, [&](const StepFolder& folder) {
    const Manifest& manifest = folder.manifest();
    std::vector<RequestedLeaf> wanted;
    paths.clear();
    for (std::size_t i = 0; i < manifest.entries.size(); ++i) {
      const Entry& e = manifest.entries[i];
      if (!options.only.empty() && !fits_any(options.only, e.path)) continue;
      wanted.push_back({i, as_saved(e, options.mesh)});
      paths.push_back(e.path);
    }
    need_fit(manifest, wanted, loc);
    return read_arrays(folder, wanted, options.verify, loc);
  });
  std::map<std::string, Array> all;
  for (std::size_t i = 0; i < paths.size(); ++i) all[paths[i]] = out.arrays[i];
  return all;
}

namespace {
[[noreturn]] void refuse_folder(const char* function, const std::string& dir,
                                const std::string& problem, const SourceLoc& loc) {
  Message(function)
      .problem(shown_path(dir) + " cannot be read: " + problem)
      .rule("checkpoints lie in a folder, each step in one of its own")
      .from(loc)
      .advice("check the path, and the permissions of the folder")
      .raise<IoError>();
}
// The problems of a step. Throws IoError if they are unknown because this process may not read it.
std::optional<std::vector<Problem>> verified(const char* function, const std::string& dir,
                                             std::int64_t step, const SourceLoc& loc) {
  std::optional<std::vector<Problem>> problems = verify_step(dir, step);
  if (problems && !problems->empty() && !is_damaged(*problems))
    refuse_step(function, dir, step, *problems, loc);
  return problems;
}
}  // namespace

std::vector<std::int64_t> CheckpointFiles::all_steps(const std::string& dir,
                                                     std::source_location loc) {
  std::string problem;
  std::vector<std::int64_t> steps = steps_in(dir, &problem);
  if (!problem.empty()) refuse_folder("checkpoint::all_steps", dir, problem, loc);
  return steps;
}

std::optional<std::int64_t> CheckpointFiles::latest_step(const std::string& dir,
                                                         std::source_location loc) {
  std::string problem;
  const std::optional<std::int64_t> newest = newest_in(dir, &problem);
  if (!problem.empty()) refuse_folder("checkpoint::latest_step", dir, problem, loc);
  return newest;
}

std::optional<std::int64_t> CheckpointFiles::latest_intact_step(const std::string& dir,
                                                                std::source_location loc) {
  // Other processes may remove the newest steps while they are verified, and add newer ones.
  for (int tries = 1;; ++tries) {
    const std::vector<std::int64_t> steps = all_steps(dir, loc);
    const auto intact = std::find_if(steps.rbegin(), steps.rend(), [&](std::int64_t step) {
      const auto problems = verified("checkpoint::latest_intact_step", dir, step, loc);
      return problems && problems->empty();
    });
    if (intact != steps.rend()) return *intact;
    if (tries == kTries || all_steps(dir, loc) == steps) return {};
  }
}

CheckpointInfo CheckpointFiles::info(const std::string& dir, std::int64_t step,
                                     std::source_location loc) {
  const StepFolder folder = open_step("checkpoint::info", dir, step, loc);
  const Manifest& m = folder.manifest();
  CheckpointInfo out;
  out.step = m.step;
  out.time = m.time;
  out.processes = m.processes;
  out.metrics = m.metrics;
  out.metadata = m.metadata;
  out.bytes = m.bytes();
  for (const Entry& e : m.entries)
    out.leaves.push_back({e.path, e.dtype, e.shape, e.mesh, e.spec, e.blocks.size()});
  for (const File& f : m.files) out.files.push_back({f.name, f.bytes});
  return out;
}

std::vector<std::string> CheckpointFiles::verify(const std::string& dir, std::int64_t step,
                                                 std::source_location loc) {
  constexpr const char* function = "checkpoint::verify";
  for (;;) {
    (void)choose_step(function, dir, step, loc);
    const auto problems = verified(function, dir, step, loc);
    if (!problems) continue;  // it was removed meanwhile
    std::vector<std::string> texts;
    for (const Problem& p : *problems) texts.push_back(p.text);
    return texts;
  }
}

}  // namespace detail
}  // namespace tessera::inline v0
