// Compiled modules on disk: they are read back, and a cache that does not work changes nothing.
#include "platforms/faults.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace faults;
using ts::Array;
namespace fs = std::filesystem;

extern char** environ;

namespace {

// What the other processes of this test run: a program with this number in it, so that each test
// has modules of its own.
int run_child(int number) {
  const Array x = ts::device_put(ts::arange(4.f), load()[0]);
  const float n = static_cast<float>(number);
  const auto f = ts::jit([n](Array a) { return a * n + 1; });
  const bool right = f(x).to_vector<float>() == std::vector<float>{1, n + 1, 2 * n + 1, 3 * n + 1};
  return right ? 0 : 1;
}

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera_modules_XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder); }
  /// Starts this program again to run the test `Child`, with variables of its own.
  static pid_t start(int number, const std::vector<std::string>& variables) {
    std::vector<std::string> texts = variables;
    texts.push_back("TESSERA_TEST_CHILD=" + std::to_string(number));
    std::vector<char*> environment;
    for (std::string& t : texts) environment.push_back(t.data());
    for (char** e = environ; *e; ++e)
      if (!std::string(*e).starts_with("TESSERA_")) environment.push_back(*e);
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe", filter = "--gtest_filter=CacheChild.Runs";
    char* arguments[] = {program.data(), filter.data(), nullptr};
    pid_t child = 0;
    EXPECT_EQ(
        ::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environment.data()), 0);
    return child;
  }
  static int ended(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
  }
  int run(int number, std::vector<std::string> variables = {}) const {
    variables.push_back("TESSERA_CACHE_DIR=" + folder.string());
    return ended(start(number, variables));
  }
  /// The modules in the cache, which are the files that contain this word of their key.
  std::vector<fs::path> modules() const {
    std::vector<fs::path> all;
    for (const auto& e : fs::recursive_directory_iterator(folder)) {
      if (!e.is_regular_file()) continue;
      std::ifstream file(e.path(), std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      if (text.find("pjrt\n") != std::string::npos) all.push_back(e.path());
    }
    return all;
  }
  fs::path folder;
};

}  // namespace

TEST(CacheChild, Runs) {
  if (const char* number = std::getenv("TESSERA_TEST_CHILD"))
    EXPECT_EQ(run_child(std::atoi(number)), 0);
}

TEST_F(Cache, ModulesAreReadBack) {
  EXPECT_EQ(run(3), 0);
  const std::vector<fs::path> written = modules();
  ASSERT_FALSE(written.empty());
  // A process that cannot compile has them from the disk.
  EXPECT_EQ(run(3, {"TESSERA_TEST_FAULT=compile"}), 0);
  EXPECT_NE(run(4, {"TESSERA_TEST_FAULT=compile"}), 0) << "another program";
  EXPECT_EQ(modules().size(), written.size());
}

TEST_F(Cache, DamagedModulesAreCompiledAnew) {
  EXPECT_EQ(run(5), 0);
  for (const fs::path& file : modules()) {
    const auto size = fs::file_size(file);
    std::fstream f(file, std::ios::binary | std::ios::in | std::ios::out);
    f.seekp(static_cast<std::streamoff>(size - 7));
    f.put('?');
  }
  EXPECT_NE(run(5, {"TESSERA_TEST_FAULT=compile"}), 0) << "nothing damaged is read";
  EXPECT_EQ(run(5), 0);
  EXPECT_EQ(run(5, {"TESSERA_TEST_FAULT=compile"}), 0) << "it has been written again";
  for (const fs::path& file : modules()) fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_EQ(run(5), 0);
}

// Nothing can be written: there is no folder, or no space.
TEST_F(Cache, WithoutADiskEverythingIsCompiled) {
  EXPECT_EQ(ended(start(6, {"TESSERA_CACHE_DIR=/proc/nowhere"})), 0);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{512, before.rlim_max};
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &none);
  const int full = run(6);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old);
  EXPECT_EQ(full, 0);
  EXPECT_TRUE(modules().empty());
}

TEST_F(Cache, SeveralProcessesWriteOneModule) {
  std::vector<pid_t> children;
  for (int k = 0; k < 4; ++k)
    children.push_back(start(7, {"TESSERA_CACHE_DIR=" + folder.string()}));
  for (const pid_t child : children) EXPECT_EQ(ended(child), 0);
  EXPECT_EQ(run(7, {"TESSERA_TEST_FAULT=compile"}), 0);
}
