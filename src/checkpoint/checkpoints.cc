#include <tessera/checkpoints.h>

#include "checkpoint/agreement.h"
#include "checkpoint/job.h"
#include "checkpoint/restore.h"
#include "checkpoint/shard_reader.h"
#include "checkpoint/staging.h"

#include <tessera/detail/input_file.h>
#include <tessera/device.h>
#include <tessera/distributed.h>
#include <tessera/sharding.h>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>

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

// Where a leaf of the tree is; nothing for one that is where new arrays are.
std::optional<Sharding> place_of(const Array& like) {
  if (!like.is_concrete()) return {};
  Sharding s = like.sharding();
  if (s.devices().size() == 1 && s.mesh().axes().empty() && s.devices()[0] == local_devices().at(0))
    return {};
  return s;
}

// Which entries the leaves are, by leaf; none for those that stay.
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

// ShardingError that lists all leaves that do not divide.
void need_fit(const Manifest& manifest, const std::vector<Wanted>& wanted, const SourceLoc& loc) {
  Message m(kRestore);
  bool fits = true;
  for (const Wanted& w : wanted) {
    if (!w.where) continue;
    const Entry& e = manifest.entries[w.entry];
    try {
      (void)w.where->shard_shape(e.shape);
    } catch (const ShardingError& error) {
      const std::string_view text = error.what();
      const std::size_t begin = text.find(": ") + 2;
      m.offender(shown(e.path) + ": " + std::string(text.substr(begin, text.find('\n') - begin)));
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

// Everything between the choice of a step and the agreement of all processes.
template <class F>
auto in_agreement(const std::string& dir, const CheckpointRestoreOptions& options,
                  const SourceLoc& loc, F restore) {
  std::exception_ptr mine;
  std::int64_t step = 0;
  try {
    // Steps may come and go meanwhile: the first process decides.
    if (process_index() == 0) step = choose_step(kRestore, dir, options.step, loc);
  } catch (...) {
    mine = std::current_exception();
  }
  step = static_cast<std::int64_t>(agree(kRestore, "restore from " + detail::shown_path(dir), mine,
                                         static_cast<std::uint64_t>(step), {}, loc));
  decltype(restore(Manifest())) out;
  try {
    (void)choose_step(kRestore, dir, step, loc);
    Manifest manifest;
    if (const std::string why = read_manifest(dir, step, manifest); !why.empty())
      refuse_damaged(kRestore, dir, step, {why}, loc);
    out = restore(manifest);
  } catch (...) {
    mine = std::current_exception();
  }
  agree(kRestore, fmt::format("restore step {} of {}", step, detail::shown_path(dir)), mine, loc);
  return out;
}

// What is asked for of an array, by the spec that it was saved with.
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
CheckpointSaving& CheckpointSaving::operator=(CheckpointSaving&& other) noexcept {
  std::swap(job_, other.job_);
  return *this;
}
void CheckpointSaving::wait() {
  if (job_) job_->wait();
}
bool CheckpointSaving::is_done() const { return !job_ || job_->is_done(); }

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
  return in_agreement(dir, options, loc, [&](const Manifest& manifest) {
    const Match match(dir, manifest, tree.paths(), like, options, loc);
    const std::vector<std::optional<PartitionSpec>> specs =
        specs_by_leaf(kRestore, options.specs, tree, "tree", loc);
    std::vector<Wanted> wanted;
    std::vector<std::size_t> leaves;
    for (std::size_t i = 0; i < like.size(); ++i) {
      if (!match.entries[i]) continue;
      const Entry& e = manifest.entries[*match.entries[i]];
      Wanted w{*match.entries[i], {}};
      if (specs[i])
        w.where = Sharding(mesh_of(options, loc), *specs[i], loc);
      else
        w.where = options.mesh.empty() ? place_of(like[i]) : as_saved(e, options.mesh);
      wanted.push_back(std::move(w));
      leaves.push_back(i);
    }
    need_fit(manifest, wanted, loc);
    const std::vector<Array> read = read_arrays(dir, manifest, wanted, options.verify, loc);
    std::vector<Array> out = like;
    for (std::size_t i = 0; i < leaves.size(); ++i) out[leaves[i]] = read[i];
    return out;
  });
}

std::uint64_t checkpoint_bytes_read() { return bytes_read(); }

std::map<std::string, Array> CheckpointFiles::restore_arrays(
    const std::string& dir, const CheckpointRestoreOptions& options, std::source_location loc) {
  const InFunction called("checkpoint::restore_arrays", loc);
  return in_agreement(dir, options, loc, [&](const Manifest& manifest) {
    std::vector<Wanted> wanted;
    for (std::size_t i = 0; i < manifest.entries.size(); ++i)
      if (options.only.empty() || fits_any(options.only, manifest.entries[i].path))
        wanted.push_back({i, as_saved(manifest.entries[i], options.mesh)});
    need_fit(manifest, wanted, loc);
    const std::vector<Array> read = read_arrays(dir, manifest, wanted, options.verify, loc);
    std::map<std::string, Array> out;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      out[manifest.entries[wanted[i].entry].path] = read[i];
    return out;
  });
}

std::vector<std::int64_t> CheckpointFiles::all_steps(const std::string& dir,
                                                     std::source_location loc) {
  std::string problem;
  std::vector<std::int64_t> steps = steps_in(dir, &problem);
  if (!problem.empty())
    Message("checkpoint::all_steps")
        .problem(shown_path(dir) + " cannot be read: " + problem)
        .rule("checkpoints lie in a folder, each step in one of its own")
        .from(loc)
        .advice("check the path, and the permissions of the folder")
        .raise<IoError>();
  return steps;
}

std::optional<std::int64_t> CheckpointFiles::latest_step(const std::string& dir,
                                                         std::source_location loc) {
  const std::vector<std::int64_t> steps = all_steps(dir, loc);
  return steps.empty() ? std::nullopt : std::optional(steps.back());
}

std::optional<std::int64_t> CheckpointFiles::latest_intact_step(const std::string& dir,
                                                                std::source_location loc) {
  const std::vector<std::int64_t> steps = all_steps(dir, loc);
  const auto intact = std::find_if(steps.rbegin(), steps.rend(), [&](std::int64_t step) {
    return verify_step(dir, step).empty();
  });
  return intact == steps.rend() ? std::nullopt : std::optional(*intact);
}

CheckpointInfo CheckpointFiles::info(const std::string& dir, std::int64_t step,
                                     std::source_location loc) {
  constexpr const char* function = "checkpoint::info";
  (void)choose_step(function, dir, step, loc);
  Manifest m;
  if (const std::string why = read_manifest(dir, step, m); !why.empty())
    refuse_damaged(function, dir, step, {why}, loc);
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
  (void)choose_step("checkpoint::verify", dir, step, loc);
  return verify_step(dir, step);
}

}  // namespace detail
}  // namespace tessera::inline v0
