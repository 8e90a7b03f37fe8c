#include "checkpoints/parts.h"

#include "checkpoints/step_names.h"
#include "checkpoints/trouble.h"

#include <tessera/distributed.h>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

namespace tessera::inline v0::checkpoints {
namespace {

// Seconds to wait for a sign of life from a process on another machine, whose locks may not be
// visible here; there, the launcher detects that it died. A process that has not started yet is
// only waited for as long as in other collective calls.
constexpr double kPatienceElsewhere = 3600;

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string last_of(int process) {
  return fmt::format("look at what process {} did last", process);
}

std::string host_name() {
  char text[256] = {};
  (void)::gethostname(text, sizeof text - 1);
  return text;
}

enum class Sign { of_life, none, elsewhere, of_death };
// The sign of life of a process, which holds a lock on a file while it works.
Sign sign_at(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Sign::none;
  if (read_text(path) != host_name()) return Sign::elsewhere;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return Sign::of_death;
  return errno == EWOULDBLOCK ? Sign::of_life : Sign::elsewhere;
}

// Polls until something happens.
class Waiting {
 public:
  explicit Waiting(int process) : process_(process) {}
  /// Sleeps briefly. Throws Trouble if there was no sign of life for too long.
  void go_on(Sign sign) {
    const auto now = std::chrono::steady_clock::now();
    if (sign == Sign::of_life) heard_ = now;
    const double patience = sign == Sign::elsewhere ? kPatienceElsewhere : distributed::timeout();
    if (std::chrono::duration<double>(now - heard_).count() > patience)
      throw Trouble(fmt::format("nothing was heard of process {} for {:g} s", process_, patience),
                    last_of(process_));
    std::this_thread::sleep_for(pause_);
    if (pause_ < std::chrono::milliseconds(20)) pause_ += std::chrono::milliseconds(1);
  }

 private:
  const int process_;
  std::chrono::steady_clock::time_point heard_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds pause_{1};
};

}  // namespace

Descriptor announce(const Staging& folder, int process) {
  // The file is locked before it becomes visible under its name.
  const std::string name = folder.path(alive_name(process)), made = unfinished(name);
  Descriptor file(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file) throw Trouble::of_system(alive_name(process) + " cannot be written");
  (void)::flock(file.get(), LOCK_EX | LOCK_NB);
  const std::string host = host_name();
  if (::write(file.get(), host.data(), host.size()) != static_cast<ssize_t>(host.size()))
    throw Trouble::of_system(alive_name(process) + " cannot be written");
  if (::rename(made.c_str(), name.c_str()) != 0)
    throw Trouble::of_system(alive_name(process) + " cannot be written");
  return file;
}

void put_part(const Staging& folder, int process, const Manifest& head, const Part& part) {
  // A report has the format of a manifest in which each block is an entry of its own, because the
  // blocks of one process need not cover their arrays.
  Manifest m;
  m.step = head.step;
  m.nonce = head.nonce;
  m.files = part.written.files;
  if (!part.problem.empty()) m.metadata["problem"] = part.problem;
  for (const auto& [entry, block] : part.written.blocks) {
    Entry e = head.entries[entry];
    e.path = std::to_string(entry);
    e.shape = block.shape;
    e.blocks = {block};
    e.blocks[0].start = Shape(std::vector<std::int64_t>(block.shape.size(), 0));
    e.mesh.clear();
    // The block's position in the whole array.
    std::string start;
    for (const std::int64_t s : block.start) start += std::to_string(s) + ' ';
    m.metadata["start " + std::to_string(m.entries.size())] = start;
    m.entries.push_back(std::move(e));
  }
  for (std::size_t i = 0; i < part.own.size(); ++i) {
    std::string sums;
    for (const std::uint64_t s : part.own[i]) sums += fmt::format("{:016x}", s);
    m.metadata["own " + std::to_string(i)] = sums;
  }
  const std::string target = folder.path(part_name(process)), made = unfinished(target);
  std::ofstream out(made, std::ios::binary | std::ios::trunc);
  out << to_text(m);
  out.close();
  if (!out || ::rename(made.c_str(), target.c_str()) != 0)
    throw Trouble::of_system(part_name(process) + " cannot be written");
}

namespace {

Part part_of(const Manifest& m) {
  Part part;
  part.written.files = m.files;
  if (const auto at = m.metadata.find("problem"); at != m.metadata.end()) part.problem = at->second;
  for (std::size_t i = 0; i < m.entries.size(); ++i) {
    Block b = m.entries[i].blocks.at(0);
    b.start.clear();
    const std::string& text = m.metadata.at("start " + std::to_string(i));
    for (std::size_t at = 0; at < text.size(); at = text.find(' ', at) + 1)
      b.start.push_back(std::stoll(text.substr(at)));
    part.written.blocks.emplace_back(std::stoul(m.entries[i].path), std::move(b));
  }
  for (std::size_t i = 0;; ++i) {
    const auto at = m.metadata.find("own " + std::to_string(i));
    if (at == m.metadata.end()) break;
    auto& sums = part.own.emplace_back();
    for (std::size_t d = 0; d < at->second.size(); d += 16)
      sums.push_back(std::stoull(at->second.substr(d, 16), nullptr, 16));
  }
  return part;
}

}  // namespace

Part wait_for_part(const Staging& folder, int process, const Manifest& head) {
  const std::string path = folder.path(part_name(process)),
                    alive = folder.path(alive_name(process));
  Waiting waiting(process);
  for (;;) {
    // Check the sign of life first: a finished process writes its report before it releases its
    // lock.
    const Sign sign = sign_at(alive);
    if (const std::optional<std::string> text = read_text(path)) {
      Manifest m;
      if (const std::string why = parse(*text, m); !why.empty() || m.nonce != head.nonce)
        throw Trouble("what process " + std::to_string(process) + " wrote cannot be read: " + why);
      return part_of(m);
    }
    if (sign == Sign::of_death)
      throw Trouble(fmt::format("process {} ended before it had written its part", process),
                    last_of(process));
    waiting.go_on(sign);
  }
}

void wait_for_step(const Staging& folder, const std::string& dir, std::int64_t step,
                   const std::string& nonce) {
  const std::string made = step_path(dir, step) + "/" + kManifest,
                    alive = folder.path(alive_name(0));
  Waiting waiting(0);
  const auto is_made = [&] {
    const std::optional<std::string> text = read_text(made);
    return text && text->find("\"nonce\": \"" + nonce + "\"") != std::string::npos;
  };
  for (;;) {
    const Sign sign = sign_at(alive);
    const bool there = ::access(folder.path().c_str(), F_OK) == 0;
    if (!there || sign == Sign::of_death) {
      // Check this after the sign of life, so that a step committed in between is seen. With
      // several saves in progress, the step may already have been removed.
      if (is_made() || folder.was_made()) return;
      if (!there) throw Trouble("process 0 gave it up", last_of(0));
      throw Trouble("process 0 ended, or gave it up", last_of(0));
    }
    waiting.go_on(sign);
  }
}

void remove_parts(const Staging& folder, int processes) {
  for (int p = 0; p < processes; ++p)
    for (const std::string& name : {part_name(p), alive_name(p)})
      ::unlink(folder.path(name).c_str());
}

}  // namespace tessera::inline v0::checkpoints
