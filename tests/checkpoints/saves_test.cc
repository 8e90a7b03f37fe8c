// What a save leaves in its folder, whatever happens meanwhile.
#include <tessera/creation.h>
#include <tessera/detail/replace_file.h>
#include <tessera/safetensors.h>

#include "message.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace ts = tessera;
namespace fs = std::filesystem;
using test::message;
using ts::Array;

namespace {

class Saves : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-saves-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
    path = dir + "/m.safetensors";
  }
  void TearDown() override { fs::remove_all(dir); }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& e : fs::directory_iterator(dir)) all.push_back(e.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  static unsigned mode(const std::string& p) {
    struct stat s {};
    EXPECT_EQ(::stat(p.c_str(), &s), 0);
    return s.st_mode & 07777;
  }
  std::string dir, path;
};

using Names = std::vector<std::string>;

}  // namespace

// Each of the files is whole, and all elements are of one thread.
TEST_F(Saves, ThreadsThatSaveToOnePathLeaveAWholeFile) {
  const std::vector<Array> values = {ts::full({40000}, 1), ts::full({50000}, 2),
                                     ts::full({30000}, 3), ts::full({60000}, 4)};
  for (const Array& x : values) x.block_until_ready();
  ts::save(path, values[0]);
  std::vector<std::thread> threads;
  for (const Array& x : values)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) ts::save(path, x);
    });
  for (int i = 0; i < 50; ++i) {
    const ts::SafeTensors found = ts::load_safetensors(path);
    const Array& x = found.tensors.at("value");
    const std::vector<std::int32_t> got = x.to_vector<std::int32_t>();
    ASSERT_TRUE(std::all_of(got.begin(), got.end(), [&](int v) { return v == got[0]; }));
    ASSERT_EQ(x.size(), values.at(static_cast<std::size_t>(got[0]) - 1).size());
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(names(), Names{"m.safetensors"});
}

TEST_F(Saves, KeepThePermissionsOfWhatTheyReplace) {
  ts::save(path, ts::ones({3}));
  for (unsigned m : {0600u, 0640u, 0664u, 0666u, 0700u}) {
    ASSERT_EQ(::chmod(path.c_str(), m), 0);
    ts::save(path, ts::ones({3}));
    EXPECT_EQ(mode(path), m);
  }
  const mode_t before = ::umask(077);
  ts::save(dir + "/new", ts::ones({3}));
  ::umask(before);
  EXPECT_EQ(mode(dir + "/new"), 0600u);
}

// Names that could be guessed, as they would be for this process and for that file.
TEST_F(Saves, ALinkPlantedBesideThemIsNotFollowed) {
  const std::string victim = dir + "/victim";
  std::ofstream(victim) << "mine";
  const std::string pid = std::to_string(::getpid());
  for (const std::string& name : {path + ".tmp" + pid, path + ".tmp", dir + "/.tessera-" + pid})
    fs::create_symlink(victim, name);
  fs::create_symlink(victim, dir + "/.tessera-0123456789abcdef.tmp");
  ts::save(path, ts::ones({3}));
  std::string text;
  std::ifstream(victim) >> text;
  EXPECT_EQ(text, "mine");
  EXPECT_EQ(names().size(), 6u);
}

// A save that is killed leaves nothing, or what the next save into the folder removes. What
// somebody writes just now has a lock, and other files have other names.
TEST_F(Saves, WhatAKilledOneLeftIsRemoved) {
  const std::string left = dir + "/.tessera-00000000000000aa.tmp",
                    used = dir + "/.tessera-00000000000000bb.tmp";
  const Names others = {".tessera-00000000000000AA.tmp", ".tessera-1.tmp", "a.tmp",
                        "m.safetensors.tmp12"};
  for (const std::string& name : {left, used}) std::ofstream(name) << "part";
  for (const std::string& name : others) std::ofstream(dir + "/" + name) << "mine";
  fs::create_directory(dir + "/.tessera-00000000000000cc.tmp");
  const int file = ::open(used.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  ts::save(path, ts::ones({3}));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(used));
  EXPECT_TRUE(fs::exists(dir + "/.tessera-00000000000000cc.tmp"));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(dir + "/" + name)) << name;
  ::close(file);
  ts::save(path, ts::ones({3}));
  EXPECT_FALSE(fs::exists(used));
}

// The child writes as a save does, without end, until it is killed at some moment of it. It touches
// no array: of this process's threads it has one.
TEST_F(Saves, KillsLeaveAWholeFileAndNothingBesides) {
  ts::SafeTensors contents;
  contents.tensors["w"] = ts::ones({1 << 18});
  ts::save_safetensors(path, contents);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::string_view parts[] = {std::string_view(bytes).substr(0, 100),
                                    std::string_view(bytes).substr(100)};
  for (int i = 0; i < 20; ++i) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      for (char c = 0;; ++c) {
        if (!ts::detail::replace_file(path, parts).empty() || ::write(pipe[1], &c, 1) != 1)
          ::_exit(1);
      }
    }
    char c = 0;
    for (int k = 0; k <= i % 3; ++k) ASSERT_EQ(::read(pipe[0], &c, 1), 1);
    for (int k = 0; k < i * 200; ++k) ::sched_yield();
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(pipe[0]);
    ::close(pipe[1]);
    EXPECT_EQ(ts::load_safetensors(path).tensors.at("w").size(), 1 << 18);
  }
  ts::save_safetensors(path, contents);
  EXPECT_EQ(names(), Names{"m.safetensors"});
}

// With the signal as the system has it, which would end the process.
TEST_F(Saves, BeyondTheLimitOfFilesFailAndKeepWhatWasThere) {
  ts::save(path, ts::arange(10));
  rlimit old{}, small{};
  getrlimit(RLIMIT_FSIZE, &old);
  for (rlim_t bytes : {rlim_t{0}, rlim_t{1}, rlim_t{7}, rlim_t{8}, rlim_t{80}, rlim_t{4000}}) {
    small = {bytes, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string text = message<ts::IoError>([&] { ts::save(path, ts::ones({1000})); });
    setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_NE(text.find("it cannot be written: File too large"), std::string::npos) << text;
    EXPECT_EQ(ts::load(path, ts::zeros({10}, ts::i32)).to_vector<int>().back(), 9);
    EXPECT_EQ(names(), Names{"m.safetensors"});
  }
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
}

TEST_F(Saves, PlacesThatCannotBeWritten) {
  const auto why = [&](const std::string& p) {
    const std::string text = message<ts::IoError>([&] { ts::save(p, ts::ones({3})); });
    const std::string::size_type at = text.find("it cannot be written: ");
    return at == std::string::npos ? text : text.substr(at + 22, text.find('\n') - at - 22);
  };
  EXPECT_EQ(why(""), "The path is empty");
  EXPECT_EQ(why("/dev/full"), "It is not a file");
  EXPECT_EQ(why("/dev/stdout/x"), "Not a directory");
  EXPECT_EQ(why(dir), "It is a folder");
  EXPECT_EQ(why(dir + "/new/"), "Its name ends in a slash");
  EXPECT_EQ(why(path + std::string("\0x", 2)), "Its name holds a zero byte");
  EXPECT_EQ(why(dir + "/" + std::string(300, 'a')), "File name too long");
  fs::create_symlink("b", dir + "/a");
  fs::create_symlink("a", dir + "/b");
  EXPECT_EQ(why(dir + "/a"), "Too many levels of symbolic links");
  ts::save(path, ts::ones({3}));
  EXPECT_EQ(why(path + "/x"), "Not a directory");
  EXPECT_EQ(why("/proc/m.safetensors"), "No such file or directory");
  EXPECT_EQ(names(), (Names{"a", "b", "m.safetensors"}));
  // A name as long as names may be has no room for an ending.
  ts::save(dir + "/" + std::string(255, 'a'), ts::ones({3}));
}

TEST_F(Saves, FoldersThatMayNotBeEntered) {
  const std::string closed = dir + "/closed", file = closed + "/m";
  fs::create_directory(closed);
  ts::save(file, ts::ones({3}));
  ts::save(path, ts::ones({3}));
  ASSERT_EQ(::chmod(dir.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  const bool root = ::geteuid() == 0;
  // As somebody who is not root.
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string load = message<ts::IoError>([&] { ts::load(file, ts::ones({3})); }),
                    save = message<ts::IoError>([&] { ts::save(file, ts::ones({3})); }),
                    made = message<ts::IoError>([&] { ts::save(file + "/x/y", ts::ones({3})); }),
                    locked = message<ts::IoError>([&] { ts::save(path, ts::ones({4})); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ::chmod(closed.c_str(), 0700);
  EXPECT_EQ(load, "load: " + file +
                      ": it cannot be opened: Permission denied\n  try: check its permissions, and "
                      "those of the folders that it is in");
  for (const std::string& text : {save, made, locked})
    EXPECT_NE(text.find("it cannot be written: Permission denied"), std::string::npos) << text;
  EXPECT_EQ(ts::load(path, ts::zeros({3})).size(), 3);
}

// Whatever is saved can be loaded.
TEST_F(Saves, WhatLoadWouldRefuseIsNotWritten) {
  ts::save(path, ts::ones({3}));
  const auto refused = [&](const ts::SafeTensors& contents) {
    return message<ts::IoError>([&] { ts::save_safetensors(path, contents); });
  };
  const std::string head = "save: " + path + ": ";
  EXPECT_EQ(refused({{{"__metadata__", ts::ones({3})}}, {}}),
            head +
                "a tensor has the name '__metadata__'\n  rule: '__metadata__' is the file's own: "
                "its metadata stands there\n  try: give the tensor another name");
  EXPECT_EQ(refused({{{"a", Array()}}, {}}),
            head +
                "tensor 'a' is an empty Array\n  rule: a file holds tensors of a dtype and a "
                "shape\n  try: leave it out, or give it a value first");
  EXPECT_NE(
      refused({{}, {{"note", std::string(100000000, 'a')}}}).find("its header would have 1000000"),
      std::string::npos);
  EXPECT_EQ(ts::load(path, ts::zeros({3})).size(), 3);
  // Names that only look hostile.
  const ts::SafeTensors odd = {{{"", ts::array(1)},
                                {std::string("a\0b", 3), ts::array(2)},
                                {"\"\\\n\t/../", ts::array(3)},
                                {"\xF0\x9F\x90\x8D", ts::array(4)},
                                {std::string(100000, 'n'), ts::array(5)}},
                               {{"", ""}, {"__metadata__", "x"}, {std::string("\0", 1), "\n"}}};
  ts::save_safetensors(path, odd);
  const ts::SafeTensors back = ts::load_safetensors(path);
  EXPECT_EQ(back.metadata, odd.metadata);
  ASSERT_EQ(back.tensors.size(), odd.tensors.size());
  for (const auto& [name, x] : odd.tensors)
    EXPECT_EQ(back.tensors.at(name).item<int>(), x.item<int>());
}
