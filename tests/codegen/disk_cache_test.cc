// Kernels on disk: used when whole and from the same build, ignored otherwise, whatever else
// happens in the directory.
#include "codegen/disk_cache.h"

#include "codegen/run.h"
#include "ops/build.h"

#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace ts = tessera;
namespace cg = tessera::codegen;
namespace fs = std::filesystem;

namespace {

class DiskCache : public testing::Test {
 protected:
  void SetUp() override {
    save("TESSERA_CACHE", old_mode_);
    save("TESSERA_CACHE_DIR", old_directory_);
    char name[] = "/tmp/tessera_cache_XXXXXX";
    directory_ = ::mkdtemp(name);
    ::setenv("TESSERA_CACHE", "on", 1);
    ::setenv("TESSERA_CACHE_DIR", directory_.c_str(), 1);
  }
  void TearDown() override {
    restore("TESSERA_CACHE", old_mode_);
    restore("TESSERA_CACHE_DIR", old_directory_);
    fs::remove_all(directory_);
  }
  fs::path only_file() const {
    std::vector<fs::path> files;
    for (const auto& e : fs::recursive_directory_iterator(directory_))
      if (e.is_regular_file()) files.push_back(e.path());
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? fs::path() : files[0];
  }

  std::string directory_;

 private:
  static void save(const char* name, std::optional<std::string>& to) {
    if (const char* v = std::getenv(name)) to = v;
  }
  static void restore(const char* name, const std::optional<std::string>& v) {
    if (v)
      ::setenv(name, v->c_str(), 1);
    else
      ::unsetenv(name);
  }
  std::optional<std::string> old_mode_, old_directory_;
};

// A kernel that no other test compiles in this process.
ts::ProgramPtr distinct(int n) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {5 + n, 3}});
  return b.finish({{ts::ops::reduce_sum(ts::ops::mul(x, ts::ops::full_like(x, 1000 + n)), {0})}});
}

// In a child process, so that nothing is remembered: how many kernels came from the disk, or 100
// where results are wrong.
int from_disk_in_a_child(const ts::ProgramPtr& p) {
  pid_t child = ::fork();
  if (child == 0) {
    // The child inherits what this process has counted: earlier tests may find a warm cache.
    const std::int64_t before = cg::kernel_stats().from_disk;
    std::vector<ts::HostArray> in = run::random_inputs(*p);
    ts::HostArray got = run::compiled(p, in)[0], expected = ts::evaluate(*p, in)[0];
    bool right = true;
    for (std::int64_t i = 0; i < got.count(); ++i)
      right = right && run::ulps(got.number(i), expected.number(i), ts::f32) <= 64;
    ::_exit(right ? static_cast<int>(cg::kernel_stats().from_disk - before) : 100);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_F(DiskCache, ReadsBackWhatItWrote) {
  std::string id = cg::cache_id("key");
  EXPECT_EQ(id.size(), 32u);
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
  cg::write_cached(id, "key", "object");
  EXPECT_EQ(cg::read_cached(id, "key"), "object");
  EXPECT_NE(cg::cache_id("other"), id);
}

TEST_F(DiskCache, RefusesAnotherKeyOrAnotherVersionUnderTheSameName) {
  std::string id = cg::cache_id("key");
  cg::write_cached(id, "kez", "object");
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
  cg::write_cached(id, "key", "object");
  std::fstream f(only_file(), std::ios::in | std::ios::out | std::ios::binary);
  f.seekp(7);
  f.put('9');  // the format's version
  f.close();
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
}

TEST_F(DiskCache, EveryDamagedByteAndEveryLengthIsNoticed) {
  std::string id = cg::cache_id("key"), object(200, 'x');
  cg::write_cached(id, "key", object);
  fs::path path = only_file();
  std::ifstream in(path, std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt) << i;
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt) << i;
  }
  std::ofstream(path, std::ios::binary) << whole + "more";
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_EQ(cg::read_cached(id, "key"), object);
}

TEST_F(DiskCache, LinksAreNotFollowed) {
  std::string id = cg::cache_id("key");
  cg::write_cached(id, "key", "object");
  fs::path path = only_file(), elsewhere = fs::path(directory_) / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
}

TEST_F(DiskCache, TrimsTheLeastRecentlyUsed) {
  for (int i = 0; i < 8; ++i) {
    std::string key = "key" + std::to_string(i), id = cg::cache_id(key);
    cg::write_cached(id, key, std::string(1000, 'x'));
    fs::path p = fs::path(directory_) / id.substr(0, 2) / (id + ".tsk");
    fs::last_write_time(p, fs::file_time_type::clock::now() - std::chrono::hours(20 - i));
  }
  EXPECT_TRUE(cg::read_cached(cg::cache_id("key0"), "key0"));  // now the most recent
  cg::trim_cache(3500);
  EXPECT_TRUE(cg::read_cached(cg::cache_id("key0"), "key0"));
  EXPECT_TRUE(cg::read_cached(cg::cache_id("key7"), "key7"));
  EXPECT_FALSE(cg::read_cached(cg::cache_id("key1"), "key1"));
}

TEST_F(DiskCache, OffMeansOff) {
  ::setenv("TESSERA_CACHE", "off", 1);
  cg::write_cached(cg::cache_id("key"), "key", "object");
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_EQ(cg::read_cached(cg::cache_id("key"), "key"), std::nullopt);
}

TEST_F(DiskCache, ProcessesShareKernelsAndSurviveDamage) {
  ts::ProgramPtr p = distinct(1);
  EXPECT_EQ(from_disk_in_a_child(p), 0);
  EXPECT_EQ(from_disk_in_a_child(p), 1);
  fs::path path = only_file();
  std::ofstream(path, std::ios::binary) << "not a kernel";
  EXPECT_EQ(from_disk_in_a_child(p), 0);
  EXPECT_EQ(from_disk_in_a_child(p), 1);
}

TEST_F(DiskCache, ProcessesMayWriteAtOnce) {
  ts::ProgramPtr p = distinct(2);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      std::vector<ts::HostArray> in = run::random_inputs(*p);
      run::compiled(p, in);
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  only_file();  // no temporaries are left
  EXPECT_EQ(from_disk_in_a_child(p), 1);
}

TEST_F(DiskCache, ADirectoryThatCannotBeWrittenIsNoError) {
  ::setenv("TESSERA_CACHE_DIR", "/proc/nowhere", 1);
  ts::ProgramPtr p = distinct(3);
  run::check(p, run::random_inputs(*p), 64);
}
