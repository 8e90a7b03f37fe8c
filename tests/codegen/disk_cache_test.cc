// Kernels on disk are used if they are intact and from the same build, and ignored otherwise,
// whatever else happens in the directory.
#include "codegen/kernel/disk_cache.h"

#include "codegen/run.h"
#include "ops/build.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstring>
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
    save("TESSERA_CACHE_MB", old_limit_);
    char name[] = "/tmp/tessera_cache_XXXXXX";
    directory_ = ::mkdtemp(name);
    ::setenv("TESSERA_CACHE", "on", 1);
    ::setenv("TESSERA_CACHE_DIR", directory_.c_str(), 1);
  }
  void TearDown() override {
    restore("TESSERA_CACHE", old_mode_);
    restore("TESSERA_CACHE_DIR", old_directory_);
    restore("TESSERA_CACHE_MB", old_limit_);
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
  std::optional<std::string> old_mode_, old_directory_, old_limit_;
};

// A kernel that no other test compiles in this process.
ts::ProgramPtr distinct(int n) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {5 + n, 3}});
  return b.finish({{ts::ops::reduce_sum(ts::ops::mul(x, ts::ops::full_like(x, 1000 + n)), {0})}});
}

// Returns how many kernels came from the disk, or 100 if results are wrong. It runs in a child
// process, which has no other cache.
int from_disk_in_a_child(const ts::ProgramPtr& p) {
  pid_t child = ::fork();
  if (child == 0) {
    // The child inherits this process's counts, because earlier tests may have filled the cache.
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
  f.put('9');  // changes the version of the format
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
  EXPECT_TRUE(cg::read_cached(cg::cache_id("key0"), "key0"));  // now the most recently used
  cg::trim_cache(3500);
  EXPECT_TRUE(cg::read_cached(cg::cache_id("key0"), "key0"));
  EXPECT_TRUE(cg::read_cached(cg::cache_id("key7"), "key7"));
  EXPECT_FALSE(cg::read_cached(cg::cache_id("key1"), "key1"));
}

namespace {

std::size_t kernel_bytes(const std::string& directory) {
  std::size_t total = 0;
  for (const auto& e : fs::recursive_directory_iterator(directory))
    if (e.is_regular_file()) total += e.file_size();
  return total;
}
// Writes kernels of 50 kB.
void write_kernels(int first, int count) {
  for (int i = first; i < first + count; ++i) {
    const std::string key = "key" + std::to_string(i);
    cg::write_cached(cg::cache_id(key), key, std::string(50'000, 'x'));
  }
}

}  // namespace

TEST_F(DiskCache, WhatIsWrittenStaysWithinTheLimit) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  ::setenv("TESSERA_CACHE_MB", "1", 1);
  for (int i = 0; i < 100; ++i) {
    write_kernels(i, 1);
    ASSERT_LE(kernel_bytes(directory_), kLimit) << i;
  }
  EXPECT_GT(kernel_bytes(directory_), kLimit / 2);
  EXPECT_TRUE(cg::read_cached(cg::cache_id("key99"), "key99"));
  EXPECT_FALSE(cg::read_cached(cg::cache_id("key0"), "key0"));
}

TEST_F(DiskCache, ALimitThatHasBecomeLessIsKeptSoon) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  write_kernels(0, 60);
  EXPECT_GT(kernel_bytes(directory_), 2 * kLimit);
  ::setenv("TESSERA_CACHE_MB", "1", 1);
  write_kernels(60, 3);  // more than an eighth of it
  EXPECT_LE(kernel_bytes(directory_), kLimit);
}

TEST_F(DiskCache, ProcessesThatWriteAtOnceKeepTheLimitTogether) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  constexpr std::size_t kProcesses = 4;
  ::setenv("TESSERA_CACHE_MB", "1", 1);
  std::vector<pid_t> children;
  while (children.size() < kProcesses) {
    const pid_t child = ::fork();
    if (child == 0) {
      write_kernels(1000 * static_cast<int>(children.size()), 60);
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  EXPECT_LE(kernel_bytes(directory_), kLimit + kProcesses * (kLimit / 8));
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
  only_file();  // no temporary files are left
  EXPECT_EQ(from_disk_in_a_child(p), 1);
}

TEST_F(DiskCache, ADirectoryThatCannotBeWrittenIsNoError) {
  ::setenv("TESSERA_CACHE_DIR", "/proc/nowhere", 1);
  ts::ProgramPtr p = distinct(3);
  run::check(p, run::random_inputs(*p), 64);
}

namespace {

std::string name_of(const std::string& id) { return id.substr(0, 2) + "/" + id + ".tsk"; }
void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}
void make_old(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(30));
}

}  // namespace

TEST_F(DiskCache, TrimmingRemovesItsOwnFilesOnly) {
  const std::string id = cg::cache_id("key"), other = std::string(32, 'a');
  cg::write_cached(id, "key", std::string(1000, 'x'));
  const fs::path root = directory_;
  // Files whose names are similar to those of kernels, kernels in wrong folders, and a file with a
  // kernel's name that is not one.
  const std::vector<fs::path> theirs = {
      root / "notes.tsk",
      root / "draft.tmp",
      root / (other + ".tsk"),
      root / "aa" / "notes.tsk",
      root / "aa" / (other + ".tsk"),
      root / "aa" / (other + ".tsk.old"),
      root / "aa" / (other + ".tsk.1.tmp.gz"),
      root / "aa" / "draft.tmp",
      root / "bb" / (other + ".tsk"),
      root / "project" / "aa" / (other + ".tsk"),
      root / "AA" / (std::string(32, 'A') + ".tsk"),
  };
  for (const fs::path& p : theirs) {
    put(p, std::string(5000, 'y'));
    make_old(p);
  }
  cg::trim_cache(0);
  for (const fs::path& p : theirs) EXPECT_TRUE(fs::exists(p)) << p;
  EXPECT_FALSE(fs::exists(root / name_of(id)));
}

TEST_F(DiskCache, TrimmingFollowsNoLinks) {
  char name[] = "/tmp/tessera_elsewhere_XXXXXX";
  const fs::path elsewhere = ::mkdtemp(name);
  const std::string id = cg::cache_id("key");
  cg::write_cached(id, "key", std::string(1000, 'x'));
  const fs::path kernel = fs::path(directory_) / name_of(id);
  const fs::path folder = kernel.parent_path();
  fs::rename(folder, elsewhere / folder.filename());
  fs::create_directory_symlink(elsewhere / folder.filename(), folder);
  cg::trim_cache(0);
  EXPECT_TRUE(fs::exists(elsewhere / name_of(id)));
  fs::remove_all(elsewhere);
}

TEST_F(DiskCache, TrimmingRemovesWhatKilledWritersLeft) {
  const fs::path folder = fs::path(directory_) / "aa";
  const std::string id(32, 'a');
  put(folder / (id + ".tsk.4711.0.tmp"), "half a kernel");
  make_old(folder / (id + ".tsk.4711.0.tmp"));
  put(folder / (id + ".tsk.4712.0.tmp"), "under way");
  cg::trim_cache(std::size_t{1} << 30);
  EXPECT_FALSE(fs::exists(folder / (id + ".tsk.4711.0.tmp")));
  EXPECT_TRUE(fs::exists(folder / (id + ".tsk.4712.0.tmp")));
}

TEST_F(DiskCache, PipesSocketsAndFoldersInThePlaceOfFilesAreLeftAlone) {
  const std::string id = cg::cache_id("key");
  const fs::path kernel = fs::path(directory_) / name_of(id);
  fs::create_directories(kernel.parent_path());
  ASSERT_EQ(::mkfifo(kernel.c_str(), 0600), 0);
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
  cg::write_cached(id, "key", "object");
  cg::trim_cache(0);
  EXPECT_TRUE(fs::is_fifo(kernel));
  fs::remove(kernel);
  fs::create_directories(kernel / "inside");
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
  cg::write_cached(id, "key", "object");
  cg::trim_cache(0);
  EXPECT_TRUE(fs::is_directory(kernel / "inside"));
  // A file takes the place of the kernel's folder, and then of the whole directory.
  fs::remove_all(kernel.parent_path());
  ASSERT_EQ(::mkfifo(kernel.parent_path().c_str(), 0600), 0);
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
  cg::write_cached(id, "key", "object");
  cg::trim_cache(0);
  const std::string whole = directory_ + "/pipe";
  ASSERT_EQ(::mkfifo(whole.c_str(), 0600), 0);
  ::setenv("TESSERA_CACHE_DIR", whole.c_str(), 1);
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
  cg::write_cached(id, "key", "object");
  cg::trim_cache(0);
  EXPECT_TRUE(fs::is_fifo(whole));
}

TEST_F(DiskCache, ASizeThatNoKernelHasTakesNoMemory) {
  const std::string id = cg::cache_id("key");
  cg::write_cached(id, "key", "object");
  const fs::path path = only_file();
  const std::int64_t huge = std::int64_t{1} << 38;
  fs::resize_file(path, static_cast<std::uintmax_t>(huge));
  std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::int64_t object = huge - 32 - 3;
  f.seekp(16);
  f.write(reinterpret_cast<const char*>(&object), sizeof object);
  f.close();
  EXPECT_EQ(cg::read_cached(id, "key"), std::nullopt);
}

TEST_F(DiskCache, AKernelThatDoesNotLinkIsCompiledAnew) {
  const ts::ProgramPtr p = distinct(4);
  EXPECT_EQ(from_disk_in_a_child(p), 0);
  // The file is intact and has the kernel's key, but its object is not one.
  const fs::path path = only_file();
  std::ifstream in(path, std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(in)), {});
  std::uint64_t key_bytes = 0;
  std::memcpy(&key_bytes, data.data() + 8, sizeof key_bytes);
  const std::string id = path.stem().string(), key = data.substr(32, key_bytes);
  cg::write_cached(id, key, "no object file");
  EXPECT_EQ(cg::read_cached(id, key), "no object file");
  EXPECT_EQ(from_disk_in_a_child(p), 0);
  EXPECT_EQ(from_disk_in_a_child(p), 1);
}

TEST_F(DiskCache, AFullDiskIsNoError) {
  // A limit of file sizes stands for a full disk: the write fails half-way.
  const std::string id = cg::cache_id("key");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit few{64, 64};
    ::setrlimit(RLIMIT_FSIZE, &few);
    cg::write_cached(id, "key", std::string(1000, 'x'));
    ::_exit(cg::read_cached(id, "key") ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::size_t files = 0;
  for (const auto& e : fs::recursive_directory_iterator(directory_)) files += e.is_regular_file();
  EXPECT_EQ(files, 0u);
}

// If the user may read everything, as root may, nothing is tested.
TEST_F(DiskCache, AFileThatCannotBeReadIsWrittenAnew) {
  const std::string id = cg::cache_id("key");
  cg::write_cached(id, "key", "object");
  fs::permissions(only_file(), fs::perms::none);
  cg::read_cached(id, "key");
  cg::write_cached(id, "key", "object");
  EXPECT_EQ(cg::read_cached(id, "key"), "object");
}
