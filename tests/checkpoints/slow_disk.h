// The file system of slow_disk.cc on a folder of a test, and a run that saves there and obeys
// commands.
//
// A test reads the folder itself to learn what is saved, because a file system finishes its
// operations before it lists a folder.
#pragma once

#include "checkpoints/kills.h"

#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace checkpoint_test {

class SlowDisk {
 public:
  /// An operation that waits, such as "write run/.saving-10-.../manifest.json".
  struct Operation {
    std::string number, what;
  };

  explicit SlowDisk(const std::string& dir) : folder(dir + "/disk"), mount(dir + "/mount") {
#ifdef SLOW_DISK
    for (const std::string& path : {folder, mount}) std::filesystem::create_directory(path);
    process_.emplace(std::vector<std::string>{SLOW_DISK, folder, mount});
    why_not = answer();
    if (why_not == "mounted") why_not.clear();
#endif
  }
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;
  /// Waiting operations fail, and the disk is unmounted.
  ~SlowDisk() {
    if (!process_) return;
    const int code = process_->end();
    EXPECT_EQ(code, why_not.empty() ? 0 : 1) << process_->text();
    if (code == 0 || !why_not.empty() || ::umount2(mount.c_str(), MNT_DETACH) == 0) return;
    EXPECT_EQ(std::system(("fusermount3 -u -z " + mount).c_str()), 0);
  }

  void hold() { obey("hold"); }
  void hold_opens() { obey("hold opens"); }
  void open() { obey("open"); }
  /// Every operation fails with this errno until the disk is opened.
  void break_down(int error) { obey("break " + std::to_string(error)); }
  /// The first waiting operation whose text contains `text`, as soon as there is one; one without a
  /// number after two minutes.
  Operation await(const std::string& text = "") {
    process_->tell("await " + text);
    const std::string line = answer();
    const std::size_t space = line.find_first_not_of("0123456789");
    EXPECT_NE(space, 0u) << "waiting for '" << text << "': " << line;
    if (space == 0) return {};
    return {line.substr(0, space), line.substr(space + 1)};
  }
  void let(const Operation& o) { obey("do " + o.number); }
  void fail(const Operation& o, int error) {
    obey("fail " + o.number + " " + std::to_string(error));
  }

  const std::string folder, mount;
  /// Why it is not mounted; empty if it is.
  std::string why_not = "it was built without libfuse3";

 private:
  std::string answer() { return process_->next_line(120000).value_or("no answer"); }
  void obey(const std::string& line) {
    process_->tell(line);
    EXPECT_EQ(answer(), "done") << line;
  }
  std::optional<Running> process_;
};

/// If file systems cannot be mounted, as in many containers, nothing is tested.
#define NEEDS_A_SLOW_DISK(disk) \
  if (!(disk).why_not.empty())  \
  GTEST_SKIP() << "no file system can be mounted here (" << (disk).why_not << "): 0 checked"

/// `checkpoint_child obey`, started by any command.
class Obeying {
 public:
  explicit Obeying(std::vector<std::string> command) : process(std::move(command)) {}
  void tell(const std::string& line) { process.tell(line); }
  /// The lines of the next answer; the first line has the step.
  std::string answer() {
    std::string text;
    for (;;) {
      const std::optional<std::string> line = process.next_line(120000);
      if (!line) return text + "(no more)";
      if (*line == ".") return text;
      text += (text.empty() ? "" : "\n") + *line;
    }
  }
  std::string ask(const std::string& line) {
    tell(line);
    return answer();
  }
  bool is_silent() { return !process.next_line(0); }

  Running process;
};

/// A text without parts that are random or change with every edit: the number of a folder that is
/// being written, and source lines.
inline std::string undrawn(const std::string& text) {
  static const std::regex number("(\\.saving-[0-9]+)-[0-9a-f]{16}"), line("child\\.cc:[0-9]+");
  return std::regex_replace(std::regex_replace(text, number, "$1"), line, "child.cc:L");
}

}  // namespace checkpoint_test
