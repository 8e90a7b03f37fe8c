#include "checkpoint/shard_reader.h"

#include "checkpoint/runs.h"
#include "checkpoint/staging.h"
#include "checkpoint/threads.h"

#include <tessera/detail/input_file.h>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace tessera::inline v0::checkpoints {
namespace {

std::atomic<std::uint64_t> g_bytes_read{0};

bool read_all(int fd, void* to, std::uint64_t n, std::uint64_t at) {
  auto* out = static_cast<char*>(to);
  while (n > 0) {
    const ssize_t got = ::pread(fd, out, n, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    g_bytes_read.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    out += got;
    at += static_cast<std::uint64_t>(got);
    n -= static_cast<std::uint64_t>(got);
  }
  return true;
}

// "a, b and 3 more".
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

class Reader {
 public:
  Reader(const std::string& folder, const Manifest& manifest, const std::vector<Target>& targets,
         bool verify)
      : folder_(folder), manifest_(manifest), targets_(targets), verify_(verify) {}

  std::vector<std::string> read() {
    find();
    open();
    in_parallel(tasks_.size(), [&](std::size_t i) { chunk(tasks_[i]); });
    for (const auto& [name, problem] : damaged_) problems_.push_back(name + ": " + problem);
    return std::move(problems_);
  }

 private:
  // A block that targets need something of.
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

  // The files that are needed. Blocks that are not in them are damaged already.
  void open() {
    std::map<std::size_t, std::set<std::string>> needs;
    for (const Source& s : sources_) needs[s.block->file].insert(s.entry->path);
    std::set<std::size_t> unusable;
    for (const auto& [index, paths] : needs) {
      const File& f = manifest_.files[index];
      auto& file = files_[index] = std::make_unique<detail::InputFile>(folder_ + "/" + f.name);
      if (!file->problem().empty()) {
        problems_.push_back(f.name + ": " + file->problem() + "; it holds " + listed(paths));
        unusable.insert(index);
        continue;
      }
      if (file->size() != f.bytes) {
        std::set<std::string> cut;
        for (const Source& s : sources_)
          if (s.block->file == index && s.block->offset + s.block->bytes > file->size())
            cut.insert(s.entry->path);
        problems_.push_back(fmt::format("{}: it has {} bytes, and {} were written{}", f.name,
                                        file->size(), f.bytes,
                                        cut.empty() ? "" : "; this cuts " + listed(cut)));
        unusable.insert(index);
        continue;
      }
      if (verify_) header(f, *file);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const Block& b = *sources_[i].block;
      if (unusable.count(b.file)) continue;
      for (std::uint64_t at = 0; at < b.bytes; at += kChunk)
        tasks_.push_back({i, at, std::min(at + kChunk, b.bytes)});
    }
  }

  void header(const File& f, const detail::InputFile& file) {
    std::string text(f.header_bytes, '\0');
    if (!read_all(file.descriptor(), text.data(), text.size(), 0))
      problems_.push_back(f.name + ": its header cannot be read");
    else if (checksum(text.data(), text.size()) != f.header_checksum)
      problems_.push_back(f.name + ": its header is not what was written");
  }

  void chunk(const Task& task) {
    const Source& s = sources_[task.source];
    const Block& b = *s.block;
    const int fd = files_.at(b.file)->descriptor();
    const std::uint64_t n = task.end - task.begin;
    thread_local std::vector<Run> runs;
    thread_local std::vector<std::byte> room;
    std::byte* whole = nullptr;  // where all of it goes
    bool needed = false;
    // Straight to the one that takes all of it; the others copy from there.
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
    if (!read_all(fd, whole, n, b.offset + task.begin)) return damaged(s, task, "cannot be read");
    if (verify_ && checksum(whole, n) != b.checksums[task.begin / kChunk])
      return damaged(s, task, "are not what was written");
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
    const int fd = files_.at(s.block->file)->descriptor();
    std::vector<Run> runs;
    for (const auto& [t, overlap] : s.overlaps) {
      runs.clear();
      overlap.runs(task.begin, task.end, runs);
      for (const Run& r : runs)
        if (t->to && !read_all(fd, t->to + r.to, r.bytes, s.block->offset + r.from))
          return damaged(s, task, "cannot be read");
    }
  }

  // One line a leaf and file: the first bytes that are wrong say enough.
  void damaged(const Source& s, const Task& task, const char* how) {
    const std::lock_guard lock(mutex_);
    const std::string name = manifest_.files[s.block->file].name + ": " +
                             (s.entry->path.empty() ? std::string("the value") : s.entry->path);
    const std::uint64_t begin = s.block->offset + task.begin;
    auto [at, fresh] = damaged_.try_emplace(name);
    if (fresh || begin < first_[name]) {
      first_[name] = begin;
      at->second = fmt::format("bytes {} to {} {}", begin, s.block->offset + task.end, how);
    }
  }

  const std::string& folder_;
  const Manifest& manifest_;
  const std::vector<Target>& targets_;
  const bool verify_;
  std::vector<Source> sources_;
  std::vector<Task> tasks_;
  std::map<std::size_t, std::unique_ptr<detail::InputFile>> files_;
  std::vector<std::string> problems_;
  std::mutex mutex_;
  std::map<std::string, std::string> damaged_;
  std::map<std::string, std::uint64_t> first_;
};

}  // namespace

std::vector<std::string> read_targets(const std::string& folder, const Manifest& manifest,
                                      const std::vector<Target>& targets, bool verify) {
  return Reader(folder, manifest, targets, verify).read();
}

std::string read_manifest(const std::string& dir, std::int64_t step, Manifest& out) {
  const std::string name = std::string(kManifest) + ": ";
  detail::InputFile file(step_path(dir, step) + "/" + kManifest);
  if (!file.problem().empty()) return name + file.problem();
  std::string text(file.size(), '\0');
  if (!file.read(text.data(), text.size())) return name + "it cannot be read to its end";
  if (std::string why = parse(text, out); !why.empty()) return name + why;
  if (out.step != step) return name + fmt::format("it is of step {}", out.step);
  return {};
}

std::vector<std::string> verify_step(const std::string& dir, std::int64_t step) {
  Manifest m;
  if (std::string why = read_manifest(dir, step, m); !why.empty()) return {why};
  std::vector<Target> targets;
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < m.entries.size(); ++i) {
    const Shape& shape = m.entries[i].shape;
    targets.push_back({i, Shape(std::vector<std::int64_t>(shape.size(), 0)), shape, nullptr});
    for (const Block& b : m.entries[i].blocks)
      if (b.bytes > 0) used.insert(b.file);
  }
  const std::string folder = step_path(dir, step);
  std::vector<std::string> problems = read_targets(folder, m, targets, true);
  // Files of which no array has a byte: headers alone.
  for (std::size_t f = 0; f < m.files.size(); ++f) {
    if (used.count(f)) continue;
    detail::InputFile file(folder + "/" + m.files[f].name);
    std::string text(m.files[f].header_bytes, '\0');
    if (!file.problem().empty())
      problems.push_back(m.files[f].name + ": " + file.problem());
    else if (file.size() != m.files[f].bytes)
      problems.push_back(fmt::format("{}: it has {} bytes, and {} were written", m.files[f].name,
                                     file.size(), m.files[f].bytes));
    else if (!file.read(text.data(), text.size()) ||
             checksum(text.data(), text.size()) != m.files[f].header_checksum)
      problems.push_back(m.files[f].name + ": its header is not what was written");
  }
  return problems;
}

std::uint64_t bytes_read() { return g_bytes_read.load(std::memory_order_relaxed); }

}  // namespace tessera::inline v0::checkpoints
