#include "checkpoints/job.h"

#include "checkpoints/agreement.h"
#include "checkpoints/parts.h"
#include "checkpoints/shard_writer.h"
#include "checkpoints/step_folder.h"
#include "checkpoints/step_names.h"
#include "checkpoints/threads.h"
#include "checkpoints/trouble.h"

#include <tessera/detail/input_file.h>
#include <tessera/detail/unfinished_files.h>
#include <tessera/distributed.h>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>

namespace tessera::inline v0::checkpoints {
namespace {

// The jobs of this process, for which process exit waits.
struct UnderWay {
  const pid_t pid = ::getpid();
  std::mutex mutex;
  std::set<std::shared_ptr<Job>> jobs;
};
// After fork, the child must not use its parent's jobs or lock, which may be held by a thread that
// the child lacks. It gets its own.
UnderWay& under_way() {
  static std::atomic<UnderWay*> all{new UnderWay};
  UnderWay* now = all.load();
  if (now->pid != ::getpid()) {
    auto* own = new UnderWay;
    if (all.compare_exchange_strong(now, own)) return *own;
    delete own;
  }
  return *now;
}
void wait_at_the_end() {
  UnderWay& all = under_way();
  std::vector<std::shared_ptr<Job>> jobs;
  {
    const std::lock_guard lock(all.mutex);
    jobs.assign(all.jobs.begin(), all.jobs.end());
  }
  for (const auto& job : jobs) {
    try {
      job->wait();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
  }
}
void begins(const std::shared_ptr<Job>& job) {
  static const int once = std::atexit(wait_at_the_end);
  (void)once;
  UnderWay& all = under_way();
  const std::lock_guard lock(all.mutex);
  all.jobs.insert(job);
}
void is_over(const std::shared_ptr<Job>& job) {
  UnderWay& all = under_way();
  const std::lock_guard lock(all.mutex);
  all.jobs.erase(job);
}

[[noreturn]] void fail(const std::string& dir, std::int64_t step, const Trouble& trouble,
                       const SourceLoc& loc) {
  Message("checkpoint::save")
      .problem(fmt::format("step {} of {} is not saved: {}", step, detail::shown_path(dir),
                           trouble.what()))
      .rule("a step is there as a whole or not at all; those that were there are kept")
      .from(loc)
      .advice(trouble.advice())
      .raise<IoError>();
}

// Checks that the step does not exist, or that this save may replace it.
void need_place(const std::string& dir, std::int64_t step, bool overwrite, const SourceLoc& loc) {
  const Standing standing = standing_of(dir, step);
  if (standing == Standing::none || (is_own(standing) && overwrite)) return;
  const std::string where = detail::shown_path(dir);
  Message m("checkpoint::save");
  m.from(loc);
  if (is_own(standing))
    m.problem(fmt::format("{} has a step {} already", where, step))
        .rule("a step that was made is not written over")
        .advice("{.overwrite = true} puts this one in its place")
        .raise<IoError>();
  m.problem(standing == Standing::linked
                ? fmt::format("step {} of {} is a symbolic link", step, where)
            : standing == Standing::unreadable
                ? fmt::format("this process may not look into {}/{}", where, step)
                : fmt::format("{}/{} is there, and no save made it: it has no manifest of one",
                              where, step))
      .rule("a save replaces and removes steps that were saved there, and nothing else")
      .advice("move it away, or save into another folder")
      .raise<IoError>();
}

// Intact steps with greater numbers.
std::vector<std::int64_t> later_steps(const std::string& dir, std::int64_t step) {
  std::vector<std::int64_t> later = numbers_in(dir);
  std::erase_if(later, [&](std::int64_t s) {
    return s <= step || standing_of(dir, s) != Standing::made || StepFolder(dir, s).problem();
  });
  return later;
}

[[noreturn]] void refuse_later(const std::string& dir, std::int64_t step,
                               const std::vector<std::int64_t>& later, const SourceLoc& loc) {
  Message("CheckpointManager::save")
      .problem(fmt::format("{} has later steps than {}: {}", detail::shown_path(dir), step,
                           steps_text(later)))
      .rule(
          "a run saves its steps in ascending order: the greatest is the one from which it "
          "resumes, and the smallest are removed first")
      .from(loc)
      .advice(
          "{.discard_later_steps = true} of the CheckpointManager removes them once this step is "
          "saved; to keep them, save into another folder, or go on from the last of them")
      .raise<IoError>();
}

std::string absolute(const std::string& dir, const SourceLoc& loc) {
  if (dir.empty() || dir.find('\0') != std::string::npos)
    Message("checkpoint::save")
        .problem(dir.empty() ? "the path of the folder is empty"
                             : "the path of the folder holds a zero byte")
        .rule("checkpoints lie in a folder, each step in one of its own")
        .from(loc)
        .advice("name a folder, which is made where it is missing")
        .raise<IoError>();
  return absolute_path(dir);
}

// Adds the files and blocks that one process wrote to the manifest.
void merge(Manifest& m, Written written) {
  const std::size_t first = m.files.size();
  for (File& f : written.files) m.files.push_back(std::move(f));
  for (auto& [entry, block] : written.blocks) {
    block.file += first;
    m.entries.at(entry).blocks.push_back(std::move(block));
  }
}

// Checks that arrays which every process holds itself are equal; the first process writes them.
void need_equal(const Manifest& head, const std::vector<ShardPiece>& own, const Part& mine,
                const Part& other, int process) {
  for (std::size_t i = 0; i < mine.own.size(); ++i)
    if (i >= other.own.size() || mine.own[i] != other.own[i])
      throw Trouble(fmt::format("'{}' is not the same in processes 0 and {}, and it is no array "
                                "over devices of both",
                                head.entries[own[i].entry].path, process),
                    "give all processes the same, or make it an array over the devices of all");
}

void write_manifest(const Staging& folder, const Manifest& m) {
  std::string text;
  try {
    text = to_text(m);
  } catch (const std::exception&) {
    throw Trouble("a key, a metric or metadata is not UTF-8", "use plain text for them");
  }
  // Do not write a manifest that a restore would reject.
  if (text.size() > kMostManifest)
    throw Trouble(fmt::format("{} would have {} bytes, and a manifest has at most {}", kManifest,
                              text.size(), kMostManifest),
                  "save the tree in parts, into several folders");
  const std::string path = folder.path(kManifest);
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file || !detail::write_file(file.get(), text) || !detail::sync_file(file.get()))
    throw Trouble::of_system(std::string(kManifest) + " cannot be written");
}

}  // namespace

std::shared_ptr<Job> Job::begin(const SaveRequest& order) {
  Snapshot snapshot;
  Staging staging;
  std::string dir;
  std::vector<std::int64_t> later;
  std::exception_ptr mine = order.before;
  const int process = process_index();
  try {
    if (!mine) {
      dir = absolute(order.dir, order.loc);
      snapshot = snapshot_of(order.step, order.paths, order.leaves, order.options, order.loc);
      snapshot.lines.insert(
          snapshot.lines.begin(),
          {"folder " + detail::shown_path(dir), fmt::format("step {}", order.step),
           order.options.overwrite ? "overwriting" : "not overwriting"});
      if (process == 0) {
        const bool overwrite = order.options.overwrite;
        need_place(dir, order.step, overwrite, order.loc);
        if (order.then) later = later_steps(dir, order.step);
        // An explicit overwrite may replace an earlier step.
        const bool replaces = overwrite && is_own(standing_of(dir, order.step));
        if (order.is_newest && !later.empty() && !replaces)
          refuse_later(dir, order.step, later, order.loc);
        const std::string why = staging.make(dir, order.step);
        if (!why.empty()) fail(dir, order.step, Trouble(why), order.loc);
      }
    }
  } catch (...) {
    mine = std::current_exception();
  }
  const std::uint64_t nonce = agree("checkpoint::save", fmt::format("save step {}", order.step),
                                    Said{mine, staging.nonce()}, {snapshot.lines}, order.loc)
                                  .first;
  snapshot.head.nonce = fmt::format("{:016x}", nonce);

  const std::shared_ptr<Job> job(
      new Job(order, std::move(later), std::move(snapshot), std::move(staging)));
  begins(job);
  try {
    quiet_thread([job] {
      job->run();
      is_over(job);
    }).detach();
  } catch (const std::system_error& e) {
    is_over(job);
    Message("checkpoint::save")
        .problem(std::string("the system has no thread for it: ") + e.what())
        .rule("a step is written on a thread of its own")
        .from(order.loc)
        .advice("end other threads first")
        .raise<Error>();
  }
  return job;
}

Job::Job(const SaveRequest& order, std::vector<std::int64_t> later, Snapshot snapshot,
         Staging staging)
    : dir_(absolute(order.dir, order.loc)),
      loc_(order.loc),
      overwrite_(order.options.overwrite),
      process_(process_index()),
      processes_(process_count()),
      pid_(::getpid()),
      then_(order.then),
      later_(std::move(later)),
      snapshot_(std::move(snapshot)),
      staging_(std::move(staging)) {}

void Job::run() noexcept {
  // The parts of the error are kept, so that a waiting thread throws its own exception object,
  // independent of this thread.
  Failure failure;
  try {
    write();
  } catch (const Trouble& trouble) {
    try {
      fail(dir_, snapshot_.head.step, trouble, loc_);
    } catch (const IoError& e) {
      failure.save = e.parts();
    }
  } catch (...) {
    failure.other = std::current_exception();
  }
  // Release arrays, locks and an uncommitted folder before the save counts as done.
  { const Staging gone(std::move(staging_)); }
  snapshot_.held.clear();
  pieces_ = {};
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  done_ = true;
  changed_.notify_all();
}

void Job::join() {
  const std::uint64_t nonce = std::stoull(snapshot_.head.nonce, nullptr, 16);
  const std::string why = staging_.join(dir_, snapshot_.head.step, nonce);
  if (!why.empty())
    throw Trouble(
        "this process does not see the folder in which the first one makes the step (" + why + ")",
        "save into a folder of a file system that all processes have");
}

void Job::write() {
  Descriptor alive;
  try {
    if (process_ == 0)
      sweep(dir_);
    else
      join();
    pieces_ = pieces_of(std::move(snapshot_.held));
    Part part;
    if (processes_ > 1) {
      alive = announce(staging_, process_);
      part.own = checksums_of(snapshot_.head, pieces_.own);
    }
    part.written = write_shards(staging_, snapshot_.head, pieces_.written, process_, processes_);
    if (process_ == 0) return make_step(std::move(part));
    put_part(staging_, process_, snapshot_.head, part);
  } catch (const std::exception& e) {
    if (process_ == 0) throw;
    // Report the error to the others if possible; otherwise they notice that this process has
    // released its lock.
    try {
      put_part(staging_, process_, snapshot_.head, {{}, {}, report_of(e)});
    } catch (const std::exception&) {
    }
    throw;
  }
  wait_for_step(staging_, dir_, snapshot_.head.step, snapshot_.head.nonce);
}

void Job::make_step(Part part) {
  Manifest manifest = snapshot_.head;
  const Part mine{{}, part.own, {}};
  merge(manifest, std::move(part.written));
  for (int p = 1; p < processes_; ++p) {
    Part other = wait_for_part(staging_, p, snapshot_.head);
    if (!other.problem.empty())
      throw Trouble(fmt::format("process {}: {}", p, other.problem),
                    fmt::format("look at what process {} says", p));
    need_equal(snapshot_.head, pieces_.own, mine, other, p);
    merge(manifest, std::move(other.written));
  }
  write_manifest(staging_, manifest);
  if (processes_ > 1) remove_parts(staging_, processes_);
  if (const std::string why = staging_.commit(dir_, manifest.step, overwrite_); !why.empty())
    throw Trouble("it cannot be put into its place: " + why);
  if (then_) then_(later_);
}

void Job::wait() {
  if (::getpid() != pid_)
    Message("checkpoint::save")
        .problem("its thread belongs to the process that forked this one")
        .rule("a child of fork has no thread that writes")
        .from(loc_)
        .advice("save before fork, or in the parent")
        .raise<Error>();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
  told_ = true;
  if (failure_.other) std::rethrow_exception(failure_.other);
  if (failure_.save) throw IoError(*failure_.save);
}

// In a child of fork, the lock may be held by a thread that does not exist there.
bool Job::is_done() const {
  if (::getpid() != pid_) return false;
  const std::lock_guard lock(mutex_);
  return done_;
}
bool Job::is_settled() const {
  if (::getpid() != pid_) return true;
  const std::lock_guard lock(mutex_);
  return done_ && (told_ || !failure_.there());
}

}  // namespace tessera::inline v0::checkpoints
