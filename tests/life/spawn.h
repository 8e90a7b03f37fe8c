// Runs tests/life/child.cc and returns how it ended.
#pragma once

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

extern char** environ;

namespace life {

struct Ended {
  int code = -1;   // passed to exit
  int signal = 0;  // that ended it
  bool hung = false;
  std::string out;
};
inline std::ostream& operator<<(std::ostream& o, const Ended& e) {
  if (e.hung) return o << "it hung; it had printed:\n" << e.out;
  return o << "code " << e.code << ", signal " << e.signal << ", it had printed:\n" << e.out;
}

/// Far longer than any of them takes on a busy machine and under valgrind.
inline int patience_seconds() {
  const char* v = std::getenv("LIFE_PATIENCE");
  return v ? std::atoi(v) : 120;
}

/// `extra` is added to the environment: "NAME=value".
inline Ended run(const std::vector<std::string>& args, const std::vector<std::string>& extra = {}) {
  std::vector<std::string> command;
  if (const char* tool = std::getenv("LIFE_TOOL"))  // "valgrind -q --error-exitcode=99"
    for (std::string rest = tool; !rest.empty();) {
      const std::size_t space = rest.find(' ');
      command.push_back(rest.substr(0, space));
      rest = space == std::string::npos ? "" : rest.substr(space + 1);
    }
  const char* child = std::getenv("LIFE_CHILD");  // the same program with the shared library
  command.push_back(child ? child : LIFE_CHILD);
  command.insert(command.end(), args.begin(), args.end());
  std::vector<char*> argv, env;
  for (std::string& s : command) argv.push_back(s.data());
  argv.push_back(nullptr);
  std::vector<std::string> added = extra;
  for (std::string& s : added) env.push_back(s.data());
  for (char** e = environ; *e; ++e) env.push_back(*e);
  env.push_back(nullptr);

  int ends[2];
  if (::pipe(ends) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t pid = 0;
  Ended ended;
  const int failed = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed) {
    ::close(ends[0]);
    return ended;
  }
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(patience_seconds());
  auto left = [&] {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
        last - std::chrono::steady_clock::now());
    return std::max<int>(0, static_cast<int>(ms.count()));
  };
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  for (char buffer[4096];;) {
    pollfd fd{ends[0], POLLIN, 0};
    if (::poll(&fd, 1, left()) <= 0) break;
    const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    ended.out.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  pollfd fd{process, POLLIN, 0};
  if (::poll(&fd, 1, left()) <= 0) {
    ended.hung = true;
    ::kill(pid, SIGKILL);
  }
  ::close(process);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

/// How often each case runs; LIFE_ROUNDS in the environment for long runs.
inline int rounds() {
  const char* v = std::getenv("LIFE_ROUNDS");
  return v ? std::atoi(v) : 1;
}

}  // namespace life
