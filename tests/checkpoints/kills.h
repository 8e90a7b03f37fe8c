// Kills a run at random moments, repeatedly: steps that it had reported as saved exist and are
// correct, and it continues.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace checkpoint_test {

/// CHECKPOINT_KILLS in the environment for long runs.
inline int kills() {
  const char* v = std::getenv("CHECKPOINT_KILLS");
  return v ? std::atoi(v) : 6;
}

/// The program that is killed. CHECKPOINT_CHILD in the environment names another one, such as that
/// with the shared library.
inline std::string child() {
  const char* v = std::getenv("CHECKPOINT_CHILD");
  return v ? v : CHECKPOINT_CHILD;
}

/// A running program with its output, which is read line by line, and its input.
class Running {
 public:
  explicit Running(std::vector<std::string> command) {
    // No other program inherits these descriptors; otherwise their ends would not be noticed.
    int out[2], in[2];
    if (::pipe2(out, O_CLOEXEC) != 0) return;
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) return;
    std::vector<char*> argv;
    for (std::string& s : command) argv.push_back(s.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[1], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, out[1], 2);
    ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[1]);
    ::close(out[1]);
    in_ = in[0];
    out_ = out[0];
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (pid > 0) end(SIGKILL);
  }
  /// Sends it a line.
  void tell(const std::string& line) {
    const std::string text = line + "\n";
    (void)::send(in_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// Reads until a line begins with this, the output ends, or `ms` have passed; returns whether the
  /// line came.
  bool read_until(const std::string& begin, int ms) {
    const auto last = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (const std::optional<std::string> line = line_before(last))
      if (!begin.empty() && line->starts_with(begin)) return true;
    return false;
  }
  /// The next line, or nothing if the output has ended or `ms` have passed.
  std::optional<std::string> next_line(int ms) {
    return line_before(std::chrono::steady_clock::now() + std::chrono::milliseconds(ms));
  }
  /// Returns its exit code, or 128 plus a signal. Without a signal, its input is closed.
  int end(int signal = 0) {
    if (pid <= 0) return -1;
    if (signal) ::kill(pid, signal);
    ::close(in_);
    while (read_until("", 120000)) {
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid = -1;
    ::close(out_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all + part_;
  }

  pid_t pid = -1;
  std::vector<std::string> lines;

 private:
  std::optional<std::string> line_before(std::chrono::steady_clock::time_point last) {
    while (seen_ == lines.size()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          last - std::chrono::steady_clock::now());
      pollfd fd{out_, POLLIN, 0};
      if (::poll(&fd, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) return {};
      char buffer[4096];
      const ssize_t n = ::read(out_, buffer, sizeof buffer);
      if (n <= 0) return {};
      for (const char c : std::string_view(buffer, static_cast<std::size_t>(n)))
        if (c == '\n')
          lines.push_back(std::exchange(part_, {}));
        else
          part_ += c;
    }
    return lines[seen_++];
  }

  int in_ = -1, out_ = -1;
  std::size_t seen_ = 0;
  std::string part_;
};

inline std::int64_t number_behind(const std::string& line) {
  return std::stoll(line.substr(line.find(' ') + 1));
}

/// `command_of(k, steps)` returns the command of run k, "train DIR <steps>", and its number of
/// processes, one of which is killed.
template <class Command>
void kill_again_and_again(int times, Command command_of) {
  std::mt19937 draw(std::random_device{}());
  std::int64_t made = 0, furthest = 0;
  constexpr int kPatience = 120000;
  for (int k = 0; k <= times; ++k) {
    const bool last = k == times;
    const auto [command, processes] = command_of(k, last ? furthest + 5 : std::int64_t{1} << 40);
    Running run(command);
    ASSERT_TRUE(run.read_until("ready ", kPatience)) << "run " << k << ":\n" << run.text();
    const std::int64_t from = number_behind(*std::find_if(
        run.lines.begin(), run.lines.end(), [](auto& l) { return l.starts_with("ready "); }));
    // No step that was reported as saved is lost.
    ASSERT_GE(from, made) << "run " << k << ":\n" << run.text();
    if (last) {
      ASSERT_EQ(run.end(), 0) << run.text();
      EXPECT_EQ(run.lines.back(), "over " + std::to_string(furthest + 5)) << run.text();
      break;
    }
    // After some steps, at some moment within one.
    const unsigned steps = draw() % 6;
    for (unsigned i = 0; i < steps; ++i)
      ASSERT_TRUE(run.read_until("made ", kPatience)) << "run " << k << ":\n" << run.text();
    ::usleep(draw() % 4000);
    std::vector<pid_t> pids;
    for (int turn = 0; static_cast<int>(pids.size()) < processes && turn < 1000; ++turn) {
      pids.clear();
      for (const std::string& line : run.lines)
        if (line.starts_with("pid ")) pids.push_back(static_cast<pid_t>(number_behind(line)));
      if (static_cast<int>(pids.size()) < processes) (void)run.read_until("pid ", 100);
    }
    ASSERT_EQ(static_cast<int>(pids.size()), processes) << run.text();
    ::kill(pids[draw() % pids.size()], SIGKILL);
    ASSERT_NE(run.end(), 0) << run.text();
    for (const std::string& line : run.lines)
      if (line.starts_with("made ")) made = std::max(made, number_behind(line));
    furthest = std::max(made, from) + 2;  // some of the steps in progress may exist
  }
}

}  // namespace checkpoint_test
