// Runs commands in several processes.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace distributed_test {

struct Outcome {
  int code;
  std::string out;
};

inline Outcome run(const std::string& command) {
  Outcome o{-1, {}};
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return o;
  std::array<char, 4096> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    o.out.append(part.data(), n);
  const int status = ::pclose(pipe);
  o.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return o;
}
// No process that it starts runs for ever.
inline const std::string& launcher() {
  static const std::string command = std::string("timeout -k 5 120 ") + DISTRIBUTED_LAUNCHER;
  return command;
}

/// Runs a mode of child.cc in this many processes; 0: without a launcher.
inline Outcome run(int processes, const std::string& mode) {
  const std::string child = std::string(DISTRIBUTED_CHILD) + " " + mode;
  if (processes == 0) return run(child);
  return run(launcher() + " -n " + std::to_string(processes) + " " + child);
}

// If MPI itself does not work, as in a container that forbids its system calls, nothing is tested.
inline bool starts() {
  static const Outcome tried = run(launcher() + " -n 2 " + DISTRIBUTED_PROBE);
  return tried.code == 0;
}
#define NEEDS_A_LAUNCHER() \
  if (!starts()) GTEST_SKIP() << DISTRIBUTED_LAUNCHER << " does not work here: 0 checked"

}  // namespace distributed_test
