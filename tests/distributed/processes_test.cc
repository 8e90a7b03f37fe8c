// Programs in one process and in several give the same bits; what goes wrong in one of several ends
// in an error in all of them.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Outcome {
  int code;
  std::string out;
};

Outcome run(const std::string& command) {
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
Outcome run(int processes, const std::string& mode) {
  const std::string child = std::string(DISTRIBUTED_CHILD) + " " + mode;
  if (processes == 0) return run(child);
  return run(std::string(DISTRIBUTED_LAUNCHER) + " -n " + std::to_string(processes) + " " + child);
}

std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t line = 0;
  while (true) {
    const std::size_t x = a.find('\n', line), y = b.find('\n', line);
    const std::string s = a.substr(line, x - line), t = b.substr(line, y - line);
    if (s != t) return s.substr(0, 300) + "\nfor\n" + t.substr(0, 300);
    if (x == std::string::npos) return "none";
    line = x + 1;
  }
}

class Processes : public testing::TestWithParam<std::string> {};

TEST_P(Processes, GiveTheBitsOfOne) {
  const Outcome one = run(0, GetParam());
  ASSERT_EQ(one.code, 0) << one.out;
  ASSERT_GT(std::count(one.out.begin(), one.out.end(), '\n'), 8);
  for (const int n : {1, 2, 4, 8}) {
    const Outcome several = run(n, GetParam());
    EXPECT_EQ(several.code, 0) << n << " processes: " << several.out;
    EXPECT_TRUE(several.out == one.out)
        << n << " processes: " << first_difference(several.out, one.out);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Processes, testing::Values("maps", "steps", "arrays"),
                         [](const auto& info) { return info.param; });

}  // namespace
