// Steps whose files are damaged, and places where none can be made: each gives an error, and
// nothing that exists is lost.
#include <tessera/checkpoint.h>
#include <tessera/checkpoint_manager.h>
#include <tessera/creation.h>
#include <tessera/safetensors.h>

#include "checkpoints/folder.h"
#include "message.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <filesystem>
#include <map>

namespace fs = std::filesystem;
namespace ts = tessera;
using checkpoint_test::InFolder;
using checkpoint_test::read;
using checkpoint_test::same;
using checkpoint_test::write;
using test::message;
using ts::Array;

namespace {

using Tree = std::map<std::string, Array>;
using Names = std::vector<std::string>;

class Damage : public InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    tree = {{"a", ts::arange(20)}, {"b", ts::ones({3}, ts::bool_)}};
    ts::checkpoint::save(dir, 1, tree);
    ts::checkpoint::save(dir, 2, tree, {.metrics = {{"loss", 0.5}}, .metadata = {{"note", "x"}}});
  }
  std::string file(const std::string& name) const { return dir + "/2/" + name; }
  std::string said() const {
    return plain(message<ts::IoError>([&] { ts::checkpoint::restore(dir, tree); }));
  }
  // The whole text of the error.
  static std::string of(const std::string& offenders) {
    return "checkpoint::restore: step 2 of DIR is damaged\n" + offenders +
           "  rule: what is read has the checksums that were written\n"
           "  try: step 1 is intact: {.step = 1}";
  }
  Tree tree;
};

constexpr const char* kShard = "shards-0-of-1.safetensors";

}  // namespace

// Flips every bit of every file, one at a time.
TEST_F(Damage, OfAnyBitIsFound) {
  for (const std::string name : {"manifest.json", kShard}) {
    const std::string bytes = read(file(name));
    ASSERT_FALSE(bytes.empty());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ (1 << (at % 8)));
      write(file(name), other);
      const Names found = ts::checkpoint::verify(dir, 2);
      ASSERT_EQ(found.size(), 1u) << name << ", byte " << at;
      ASSERT_EQ(found[0].substr(0, found[0].find(':')), name);
      if (at % 16 == 0) {
        ASSERT_EQ(said(), of("  - " + found[0] + "\n")) << at;
      }
    }
    write(file(name), bytes);
  }
  EXPECT_TRUE(same(ts::checkpoint::restore(dir, tree), tree));
}

TEST_F(Damage, OfALengthIsFound) {
  for (const std::string name : {"manifest.json", kShard}) {
    const std::string bytes = read(file(name));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      write(file(name), bytes.substr(0, n));
      ASSERT_FALSE(ts::checkpoint::verify(dir, 2).empty()) << name << " of " << n;
      if (n % 64 == 0) {
        ASSERT_EQ(ts::checkpoint::latest_intact_step(dir), 1);
      }
    }
    write(file(name), bytes + '\0');
    ASSERT_FALSE(ts::checkpoint::verify(dir, 2).empty());
    write(file(name), bytes);
  }
  EXPECT_EQ(ts::checkpoint::latest_intact_step(dir), 2);
}

TEST_F(Damage, IsNamedWithFileAndKeyPath) {
  const std::string bytes = read(file(kShard));
  const std::size_t begin = bytes.size() - 83;  // a is 80 bytes, b 3
  std::string other = bytes;
  other[begin + 7] ^= 1;
  write(file(kShard), other);
  EXPECT_EQ(said(), of("  - shards-0-of-1.safetensors: a: bytes " + std::to_string(begin) + " to " +
                       std::to_string(begin + 80) + " are not what was written\n"));
  // Parts that are not read are not checked.
  EXPECT_TRUE(same(ts::checkpoint::restore(dir, tree, {.only = {"b"}}).at("b"), tree.at("b")));
  write(file(kShard), bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(said(),
            of("  - shards-0-of-1.safetensors: it has " + std::to_string(bytes.size() - 1) +
               " bytes, and " + std::to_string(bytes.size()) + " were written; this cuts b\n"));
  fs::remove(file(kShard));
  EXPECT_EQ(said(), of("  - shards-0-of-1.safetensors: there is no such file; it holds a, b\n"));
  write(file(kShard), bytes);
  fs::rename(dir + "/2", dir + "/3");
  EXPECT_EQ(plain(message<ts::IoError>([&] { ts::checkpoint::info(dir, 3); })),
            "checkpoint::info: step 3 of DIR is damaged\n"
            "  - manifest.json: it is of step 2\n"
            "  rule: what is read has the checksums that were written\n"
            "  try: step 1 is intact: {.step = 1}");
  fs::remove_all(dir + "/1");
  EXPECT_NE(said().find("try: no other step is intact"), std::string::npos);
}

// Manifests with a correct checksum, as an attacker or a later version would write.
TEST_F(Damage, IsNoCrashWhereAManifestIsMadeUp) {
  const std::string text = read(file("manifest.json"));
  const auto made_up = [&](const std::string& from, const std::string& to) {
    std::string rest = text.substr(text.find('\n') + 1);
    const std::size_t at = rest.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    rest.replace(at, from.size(), to);
    char sum[17];
    std::snprintf(sum, sizeof sum, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(rest.data(), rest.size())));
    write(file("manifest.json"),
          "{\"tessera checkpoint\": 1, \"xxh3\": \"" + std::string(sum) + "\",\n" + rest);
    const Names found = ts::checkpoint::verify(dir, 2);
    return found.empty() ? std::string("nothing") : found[0];
  };
  EXPECT_EQ(made_up("step", "step"), "nothing");
  const auto wrong = [&](const std::string& from, const std::string& to, const std::string& why) {
    EXPECT_EQ(made_up(from, to), "manifest.json: " + why) << from;
  };
  wrong("\"shape\":[20]", "\"shape\":[21]", "the blocks of 'a' are not the array");
  wrong("\"start\":[0]", "\"start\":[1]", "the blocks of 'a' are not the array");
  wrong("\"start\":[0]", "\"start\":[-1]", "it has a negative extent");
  wrong("\"start\":[0]", "\"start\":[]", "the blocks of 'a' are not the array");
  wrong("\"int32\"", "\"int99\"", "it has the unknown dtype 'int99'");
  wrong("\"int32\"", "\"float64\"", "a block of 'a' lies in no file");
  wrong("\"file\":0", "\"file\":7", "a block of 'a' lies in no file");
  wrong("\"xxh3\":\"", "\"xxh3\":\"0", "a block of 'a' lacks checksums");
  wrong("\"shape\":[20]", "\"shape\":[4611686018427387904,4611686018427387904]",
        "it has an array of more bytes than can be");
  wrong("shards-0", "../shards-0", "it names a file that is not beside it");
  wrong("\"header_bytes\":", "\"header_bytes\":99999",
        "the header of 'shards-0-of-1.safetensors' is longer than the file");
  wrong("\"step\": 2", "\"step\": 3", "it is of step 3");
  wrong("\"dtype\":\"int32\"", "\"dtype\":\"int32\",\"weak\":true", "'a' cannot be weak");
  for (const char* field : {"step", "time", "files", "arrays", "metrics", "chunk_bytes", "path"})
    EXPECT_EQ(made_up("\"" + std::string(field) + "\"", "\"other\"").substr(0, 47),
              "manifest.json: it is no manifest of version 1: ")
        << field;
  EXPECT_EQ(made_up("{\"note\":\"x\"}", std::string(100000, '[')).substr(0, 47),
            "manifest.json: it is no manifest of version 1: ");
}

TEST_F(Damage, BeyondTheLimitOfFilesIsAnErrorAndKeepsWhatWasThere) {
  rlimit old{}, small{};
  getrlimit(RLIMIT_FSIZE, &old);
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{100}, rlim_t{1000}, rlim_t{100000}}) {
    small = {bytes, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string text =
        message<ts::IoError>([&] { ts::checkpoint::save(dir, 3, ts::ones({100000})); });
    setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_EQ(plain(text),
              "checkpoint::save: step 3 of DIR is not saved: shards-0-of-1.safetensors cannot be "
              "written: File too large\n"
              "  rule: a step is there as a whole or not at all; those that were there are kept\n"
              "  try: check that the folder is writable, and the space that is left on the disk");
    EXPECT_EQ(names_in(dir), (Names{"1", "2"}));
  }
  EXPECT_TRUE(same(ts::checkpoint::restore(dir, tree), tree));
}

// The error of a save in progress is thrown by the next call, once.
TEST_F(Damage, OfASaveUnderWayIsToldByTheNextCall) {
  ts::CheckpointManager manager(dir, {.save_interval_steps = 10});
  rlimit old{}, small{};
  getrlimit(RLIMIT_FSIZE, &old);
  small = {1000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Array x = ts::ones({100000});
  EXPECT_FALSE(manager.save(3, x));
  EXPECT_TRUE(manager.save(10, x));
  const std::string text = message<ts::IoError>([&] { manager.save(20, x); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(plain(text).substr(0, 47), "checkpoint::save: step 10 of DIR is not saved: ") << text;
  EXPECT_EQ(manager.all_steps(), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(manager.save(20, x));
  manager.wait();
  EXPECT_EQ(manager.latest_step(), 20);
  EXPECT_EQ(names_in(dir), (Names{"1", "2", "20"}));
}

TEST_F(Damage, FoldersThatMayNotBeWritten) {
  const std::string closed = dir + "/closed";
  fs::create_directory(closed);
  ts::checkpoint::save(closed, 1, tree);
  ASSERT_EQ(::chmod(dir.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0555), 0);
  const bool root = ::geteuid() == 0;
  // The test runs as a user who is not root.
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string save = message<ts::IoError>([&] { ts::checkpoint::save(closed, 2, tree); }),
                    below =
                        message<ts::IoError>([&] { ts::checkpoint::save(closed + "/x", 2, tree); });
  const Tree back = ts::checkpoint::restore(closed, tree);
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ::chmod(closed.c_str(), 0755);
  EXPECT_TRUE(same(back, tree));
  EXPECT_EQ(plain(save),
            "checkpoint::save: step 2 of DIR/closed is not saved: Permission denied\n"
            "  rule: a step is there as a whole or not at all; those that were there are kept\n"
            "  try: check that the folder is writable, and the space that is left on the disk");
  EXPECT_NE(below.find("is not saved: Permission denied"), std::string::npos) << below;
  EXPECT_EQ(names_in(closed), Names{"1"});
  EXPECT_EQ(message<ts::IoError>([&] { ts::checkpoint::save("", 2, tree); }),
            "checkpoint::save: the path of the folder is empty\n"
            "  rule: checkpoints lie in a folder, each step in one of its own\n"
            "  try: name a folder, which is made where it is missing");
  write(dir + "/file", "x");
  EXPECT_NE(message<ts::IoError>([&] {
              ts::checkpoint::save(dir + "/file", 2, tree);
            }).find("is not saved: Not a directory"),
            std::string::npos);
}

// Remains of a killed run are removed; files that are being written, and those with other names,
// stay.
TEST_F(Damage, WhatKilledRunsLeftIsRemoved) {
  fs::create_directory(dir + "/.saving-3-0123456789abcdef");
  write(dir + "/.saving-3-0123456789abcdef/shards-0-of-1.safetensors", "part");
  fs::create_directory(dir + "/.removing-1-0123456789abcdee");
  const Names others{".saving-3", ".saving-3-0123456789ABCDEF", ".saving-x-0123456789abcdef"};
  for (const std::string& name : others) fs::create_directory(dir + "/" + name);
  ts::checkpoint::save(dir, 3, tree);
  Names all{"1", "2", "3"};
  all.insert(all.begin(), others.begin(), others.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(names_in(dir), all);
}

// A disk of a megabyte, if the tests can make one.
TEST_F(Damage, AFullDiskIsAnErrorAndKeepsWhatWasThere) {
  const std::string small = dir + "/small";
  fs::create_directory(small);
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "no disk can be made here: 0 checked";
  struct Unmount {
    const std::string& path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  } unmount{small};
  ts::checkpoint::save(small, 1, tree);
  for (const std::int64_t floats : {300000, 261800, 1 << 20}) {
    EXPECT_EQ(
        plain(message<ts::IoError>(
            [&] { ts::checkpoint::save(small, 2, ts::ones({floats}, ts::f32)); })),
        "checkpoint::save: step 2 of DIR/small is not saved: shards-0-of-1.safetensors cannot "
        "be written: No space left on device\n"
        "  rule: a step is there as a whole or not at all; those that were there are kept\n"
        "  try: check that the folder is writable, and the space that is left on the disk");
    EXPECT_EQ(names_in(small), Names{"1"});
  }
  // A disk that many small steps fill, too: any of their files may fail.
  std::int64_t step = 2;
  const std::string said = message<ts::IoError>([&] {
    for (;; ++step) ts::checkpoint::save(small, step, tree);
  });
  EXPECT_NE(said.find("No space left on device"), std::string::npos) << said;
  for (const std::int64_t s : ts::checkpoint::all_steps(small))
    EXPECT_EQ(ts::checkpoint::verify(small, s), Names{}) << s;
  EXPECT_EQ(ts::checkpoint::latest_step(small), step - 1);
  EXPECT_TRUE(same(ts::checkpoint::restore(small, tree), tree));
}
