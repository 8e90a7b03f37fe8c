#include "checkpoints/shard_reader.h"

#include "checkpoints/runs.h"
#include "checkpoints/threads.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace tessera::inline v0::checkpoints {
namespace {

std::atomic<std::uint64_t> g_bytes_read{0};

// Error codes of read_all besides errno: success, and a file that ends too early.
constexpr int kRead = 0, kEnds = -1;
int read_all(int fd, void* to, std::uint64_t n, std::uint64_t at) {
  auto* out = static_cast<char*>(to);
  while (n > 0) {
    const ssize_t got = ::pread(fd, out, n, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : kEnds;
    g_bytes_read.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    out += got;
    at += static_cast<std::uint64_t>(got);
    n -= static_cast<std::uint64_t>(got);
  }
  return kRead;
}
Problem unread(int error, const std::string& what) {
  if (error == kEnds) return {Problem::Kind::damaged, what + "cannot be read to their end"};
  return problem_of(error, what + "cannot be read: ");
}

// For example "a, b and 3 more".
std::string listed(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown == kShown && names.size() > kShown + 1)
      return text + fmt::format(" and {} more", names.size() - shown);
    text += (shown++ ? ", " : "") + (name.empty() ? "the value" : name);
  }
  return text;
}

std::optional<Problem> wrong_header(const File& f, const StepFile& file) {
  std::string text(f.header_bytes, '\0');
  const int error = read_all(file.descriptor(), text.data(), text.size(), 0);
  if (error == kEnds) return Problem{Problem::Kind::damaged, f.name + ": it ends in its header"};
  if (error != kRead) return problem_of(error, f.name + ": its header cannot be read: ");
  if (checksum(text.data(), text.size()) == f.header_checksum) return {};
  return Problem{Problem::Kind::damaged, f.name + ": its header is not what was written"};
}

class Reader {
 public:
  Reader(const StepFolder& folder, const std::vector<Target>& targets, bool verify)
      : folder_(folder), manifest_(folder.manifest()), targets_(targets), verify_(verify) {}

  std::vector<Problem> read() {
    find();
    open();
    in_parallel(tasks_.size(), [&](std::size_t i) { chunk(tasks_[i]); });
    for (const auto& [name, first] : damaged_)
      problems_.push_back({first.problem.kind, name + ": " + first.problem.text});
    return std::move(problems_);
  }

 private:
  // A block that targets need a part of.
  struct Source {
    const Entry* entry;
    const Block* block;
    std::vector<std::pair<const Target*, Overlap>> overlaps;
  };
  struct Task {
    std::size_t source;
    std::uint64_t begin, end;
  };

  void find() {
    std::map<std::size_t, std::vector<const Target*>> by_entry;
    for (const Target& t : targets_) by_entry[t.entry].push_back(&t);
    for (const auto& [index, targets] : by_entry) {
      const Entry& e = manifest_.entries[index];
      const auto element = static_cast<std::uint64_t>(size_of(e.stored()));
      for (const Block& b : e.blocks) {
        Source s{&e, &b, {}};
        for (const Target* t : targets)
          if (Overlap o(b.start, b.shape, t->start, t->shape, element); !o.empty())
            s.overlaps.emplace_back(t, std::move(o));
        if (!s.overlaps.empty()) sources_.push_back(std::move(s));
      }
    }
  }

  // Opens the files that are needed. The blocks of a file that cannot be used are reported at once.
  void open() {
    std::map<std::size_t, std::set<std::string>> needs;
    for (const Source& s : sources_) needs[s.block->file].insert(s.entry->path);
    std::set<std::size_t> unusable;
    for (const auto& [index, paths] : needs) {
      const File& f = manifest_.files[index];
      StepFile& file = files_[index] = folder_.open(f.name);
      if (file.problem()) {
        problems_.push_back({file.problem()->kind,
                             f.name + ": " + file.problem()->text + "; it holds " + listed(paths)});
        unusable.insert(index);
        continue;
      }
      if (file.size() != f.bytes) {
        std::set<std::string> cut;
        for (const Source& s : sources_)
          if (s.block->file == index && s.block->offset + s.block->bytes > file.size())
            cut.insert(s.entry->path);
        problems_.push_back(
            {Problem::Kind::damaged,
             fmt::format("{}: it has {} bytes, and {} were written{}", f.name, file.size(), f.bytes,
                         cut.empty() ? "" : "; this cuts " + listed(cut))});
        unusable.insert(index);
        continue;
      }
      if (verify_)
        if (std::optional<Problem> p = wrong_header(f, file)) problems_.push_back(std::move(*p));
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const Block& b = *sources_[i].block;
      if (unusable.count(b.file)) continue;
      for (std::uint64_t at = 0; at < b.bytes; at += kChunk)
        tasks_.push_back({i, at, std::min(at + kChunk, b.bytes)});
    }
  }

  void chunk(const Task& task) {
    const Source& s = sources_[task.source];
    const Block& b = *s.block;
    const int fd = files_.at(b.file).descriptor();
    const std::uint64_t n = task.end - task.begin;
    thread_local std::vector<Run> runs;
    thread_local std::vector<std::byte> room;
    std::byte* whole = nullptr;  // where the whole chunk is read to
    bool needed = false;
    // If one target takes the whole chunk, read it straight into that target, and copy to the
    // others from there.
    for (const auto& [t, overlap] : s.overlaps) {
      runs.clear();
      overlap.runs(task.begin, task.end, runs);
      needed |= !runs.empty();
      if (t->to && runs.size() == 1 && runs[0].bytes == n) whole = t->to + runs[0].to;
    }
    if (!needed) return;
    if (!verify_ && !whole) return exactly(task);
    if (!whole) {
      room.resize(kChunk);
      whole = room.data();
    }
    if (const int error = read_all(fd, whole, n, b.offset + task.begin); error != kRead)
      return damaged(s, task, unread(error, range(s, task)));
    if (verify_ && checksum(whole, n) != b.checksums[task.begin / kChunk])
      return damaged(s, task,
                     {Problem::Kind::damaged, range(s, task) + "are not what was written"});
    for (const auto& [t, overlap] : s.overlaps) {
      if (!t->to) continue;
      runs.clear();
      overlap.runs(task.begin, task.end, runs);
      for (const Run& r : runs)
        if (t->to + r.to != whole + (r.from - task.begin))
          std::memcpy(t->to + r.to, whole + (r.from - task.begin), r.bytes);
    }
  }
  void exactly(const Task& task) {
    const Source& s = sources_[task.source];
    const int fd = files_.at(s.block->file).descriptor();
    std::vector<Run> runs;
    for (const auto& [t, overlap] : s.overlaps) {
      runs.clear();
      overlap.runs(task.begin, task.end, runs);
      for (const Run& r : runs)
        if (t->to)
          if (const int error = read_all(fd, t->to + r.to, r.bytes, s.block->offset + r.from);
              error != kRead)
            return damaged(s, task, unread(error, range(s, task)));
    }
  }

  static std::string range(const Source& s, const Task& task) {
    return fmt::format("bytes {} to {} ", s.block->offset + task.begin, s.block->offset + task.end);
  }
  // Reports one line per leaf and file, with the first damaged range.
  void damaged(const Source& s, const Task& task, Problem problem) {
    const std::lock_guard lock(mutex_);
    const std::string name = manifest_.files[s.block->file].name + ": " +
                             (s.entry->path.empty() ? std::string("the value") : s.entry->path);
    const std::uint64_t begin = s.block->offset + task.begin;
    auto [at, fresh] = damaged_.try_emplace(name);
    if (fresh || begin < at->second.begin) at->second = {begin, std::move(problem)};
  }

  const StepFolder& folder_;
  const Manifest& manifest_;
  const std::vector<Target>& targets_;
  const bool verify_;
  std::vector<Source> sources_;
  std::vector<Task> tasks_;
  std::map<std::size_t, StepFile> files_;
  std::vector<Problem> problems_;
  std::mutex mutex_;
  struct First {
    std::uint64_t begin = 0;
    Problem problem;
  };
  std::map<std::string, First> damaged_;
};

}  // namespace

std::vector<Problem> read_targets(const StepFolder& folder, const std::vector<Target>& targets,
                                  bool verify) {
  return Reader(folder, targets, verify).read();
}

namespace {

std::vector<Problem> verify_all(const StepFolder& folder) {
  if (folder.problem()) return {*folder.problem()};
  const Manifest& m = folder.manifest();
  std::vector<Target> targets;
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < m.entries.size(); ++i) {
    const Shape& shape = m.entries[i].shape;
    targets.push_back({i, Shape(std::vector<std::int64_t>(shape.size(), 0)), shape, nullptr});
    for (const Block& b : m.entries[i].blocks)
      if (b.bytes > 0) used.insert(b.file);
  }
  std::vector<Problem> problems = read_targets(folder, targets, true);
  // Files without data of any array: check their headers only.
  for (std::size_t i = 0; i < m.files.size(); ++i) {
    if (used.count(i)) continue;
    const File& f = m.files[i];
    const StepFile file = folder.open(f.name);
    if (file.problem())
      problems.push_back({file.problem()->kind, f.name + ": " + file.problem()->text});
    else if (file.size() != f.bytes)
      problems.push_back(
          {Problem::Kind::damaged,
           fmt::format("{}: it has {} bytes, and {} were written", f.name, file.size(), f.bytes)});
    else if (std::optional<Problem> p = wrong_header(f, file))
      problems.push_back(std::move(*p));
  }
  return problems;
}

}  // namespace

std::optional<std::vector<Problem>> verify_step(const std::string& dir, std::int64_t step) {
  for (int tries = 1;; ++tries) {
    const StepFolder folder(dir, step);
    std::vector<Problem> problems = verify_all(folder);
    if (!problems.empty() && tries < kTries && !folder.is_current()) continue;
    if (folder.problem() && folder.problem()->kind == Problem::Kind::gone) return {};
    return problems;
  }
}

std::uint64_t bytes_read() { return g_bytes_read.load(std::memory_order_relaxed); }

}  // namespace tessera::inline v0::checkpoints
