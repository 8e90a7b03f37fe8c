// Files that this process may not read, and files that claim more than it can hold, are not called
// damaged; each error gives the facts.
#include <tessera/checkpoint.h>
#include <tessera/checkpoint_manager.h>
#include <tessera/creation.h>
#include <tessera/npy.h>
#include <tessera/npz.h>
#include <tessera/safetensors.h>

#include "checkpoints/folder.h"
#include "hostile.h"
#include "message.h"

#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;
namespace ts = tessera;
using checkpoint_test::read;
using checkpoint_test::same;
using checkpoint_test::write;
using test::MemoryLimit;
using test::message;

namespace {

using Names = std::vector<std::string>;
using Steps = std::vector<std::int64_t>;

class Unreadable : public checkpoint_test::InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    for (const int i : {1, 2}) ts::checkpoint::save(dir, i, ts::full({3}, i));
    ::chmod(dir.c_str(), 0755);
  }
  /// Calls f as a user without permission to read the files: root may read everything.
  static void as_another(const std::function<void()>& f) {
    const bool root = ::geteuid() == 0;
    if (root) {
      ASSERT_EQ(::seteuid(65534), 0);
    }
    f();
    if (root) {
      ASSERT_EQ(::seteuid(0), 0);
    }
  }
  static std::string cannot(const std::string& function, const std::string& offender) {
    return function + ": step 2 of DIR cannot be read\n  - " + offender +
           "\n  rule: the manifest of a step is read, and the shards that hold what is asked for\n"
           "  try: check who may read the step's folder and its files, and what this process may "
           "use";
  }
};

constexpr const char* kShard = "shards-0-of-1.safetensors";
constexpr std::uint64_t kTiB = std::uint64_t{1} << 40;

std::string number(std::uint64_t n, int bytes) {
  std::string s;
  for (int i = 0; i < bytes; ++i) s += static_cast<char>(n >> (8 * i));
  return s;
}

// The header of an .npy file.
std::string npy_head(const std::string& shape) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + shape + ",), }";
  while ((10 + header.size() + 1) % 64) header += ' ';
  header += '\n';
  return "\x93NUMPY\1" + std::string(1, '\0') + number(header.size(), 2) + header;
}

}  // namespace

TEST_F(Unreadable, FilesThatMayNotBeReadAreNotDamaged) {
  struct Case {
    std::string file, offender, info;
  };
  const std::string denied = "it cannot be opened: Permission denied";
  for (const Case& c : std::vector<Case>{
           {"/2", "manifest.json: " + denied, "manifest.json: " + denied},
           {"/2/manifest.json", "manifest.json: " + denied, "manifest.json: " + denied},
           {std::string("/2/") + kShard,
            std::string(kShard) + ": " + denied + "; it holds the value", ""}}) {
    SCOPED_TRACE(c.file);
    struct stat before {};
    ASSERT_EQ(::stat((dir + c.file).c_str(), &before), 0);
    ASSERT_EQ(::chmod((dir + c.file).c_str(), 0), 0);
    std::string restore, verify, intact, info;
    Steps steps;
    ts::Array other;
    as_another([&] {
      steps = ts::checkpoint::all_steps(dir);
      restore =
          message<ts::IoError>([&] { ts::checkpoint::restore(dir, ts::zeros({3}, ts::i32)); });
      verify = message<ts::IoError>([&] { (void)ts::checkpoint::verify(dir, 2); });
      intact = message<ts::IoError>([&] { (void)ts::checkpoint::latest_intact_step(dir); });
      info = message<ts::IoError>([&] { (void)ts::checkpoint::info(dir, 2); });
      other = ts::checkpoint::restore(dir, ts::zeros({3}, ts::i32), {.step = 1});
    });
    ASSERT_EQ(::chmod((dir + c.file).c_str(), before.st_mode & 07777), 0);
    EXPECT_EQ(steps, (Steps{1, 2}));
    EXPECT_EQ(plain(restore), cannot("checkpoint::restore", c.offender));
    EXPECT_EQ(plain(verify), cannot("checkpoint::verify", c.offender));
    EXPECT_EQ(plain(intact), cannot("checkpoint::latest_intact_step", c.offender));
    EXPECT_EQ(plain(info), c.info.empty() ? "nothing thrown" : cannot("checkpoint::info", c.info));
    EXPECT_TRUE(same(other, ts::full({3}, 1)));
  }
}

// A step that cannot be removed stays complete.
TEST_F(Unreadable, StepsInFoldersThatMayNotBeWrittenStay) {
  fs::permissions(dir, fs::perms::all);
  ASSERT_EQ(::chmod((dir + "/1").c_str(), 0555), 0);
  std::string said;
  as_another([&] {
    said = message<ts::IoError>([&] {
      ts::CheckpointManager m(dir, {.max_to_keep = 1, .async = false});
      m.save(3, ts::full({3}, 3));
    });
  });
  ASSERT_EQ(::chmod((dir + "/1").c_str(), 0755), 0);
  EXPECT_EQ(plain(said),
            "CheckpointManager: step 1 of DIR cannot be removed: Permission denied\n"
            "  rule: of the steps that are no others' to keep, the newest 1 are kept\n"
            "  try: check the permissions of the folder, or remove it by hand");
  EXPECT_EQ(ts::checkpoint::all_steps(dir), (Steps{1, 2, 3}));
  for (const int i : {1, 2, 3}) EXPECT_EQ(ts::checkpoint::verify(dir, i), Names{});
}

// The files are sparse: nothing of them is on disk.
TEST_F(Unreadable, AManifestOfATerabyteIsNotRead) {
  fs::resize_file(dir + "/2/manifest.json", kTiB);
  const MemoryLimit limit(std::uint64_t{256} << 20);
  EXPECT_EQ(plain(message<ts::IoError>([&] { ts::checkpoint::restore(dir, ts::ones({3})); })),
            "checkpoint::restore: step 2 of DIR is damaged\n"
            "  - manifest.json: it has 1099511627776 bytes, and a manifest has at most 1073741824\n"
            "  rule: what is read has the checksums that were written\n"
            "  try: step 1 is intact: {.step = 1}");
  // A file within the limit, but larger than the memory.
  fs::resize_file(dir + "/2/manifest.json", std::uint64_t{1} << 30);
#ifndef TESSERA_TEST_SANITIZED
  EXPECT_EQ(plain(message<ts::IoError>([&] { ts::checkpoint::restore(dir, ts::ones({3})); })),
            cannot("checkpoint::restore",
                   "manifest.json: there is no memory to read its 1073741824 bytes"));
#endif
}

TEST_F(Unreadable, AShardOfATerabyteIsNotRead) {
  const std::string text = read(dir + "/2/manifest.json");
  // The checksum is correct.
  const auto made_up = [&](const std::vector<std::pair<std::string, std::string>>& changes) {
    std::string rest = text.substr(text.find('\n') + 1);
    for (const auto& [from, to] : changes) {
      const std::size_t at = rest.find(from), end = rest.find_first_of(",}", at + from.size());
      ASSERT_NE(at, std::string::npos) << from;
      rest.replace(at + from.size(), end - at - from.size(), to);
    }
    char sum[17];
    std::snprintf(sum, sizeof sum, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(rest.data(), rest.size())));
    write(dir + "/2/manifest.json",
          "{\"tessera checkpoint\": 1, \"xxh3\": \"" + std::string(sum) + "\",\n" + rest);
  };
  fs::resize_file(dir + "/2/" + kShard, kTiB);
  const MemoryLimit limit(std::uint64_t{256} << 20);
  made_up({{"\"bytes\":", std::to_string(kTiB)}, {"\"header_bytes\":", std::to_string(kTiB)}});
  EXPECT_EQ(plain(message<ts::IoError>([&] { ts::checkpoint::restore(dir, ts::ones({3})); })),
            "checkpoint::restore: step 2 of DIR is damaged\n"
            "  - manifest.json: the header of 'shards-0-of-1.safetensors' claims 1099511627776 "
            "bytes, and a header has at most 100000064\n"
            "  rule: what is read has the checksums that were written\n"
            "  try: step 1 is intact: {.step = 1}");
}

TEST_F(Unreadable, AnArrayBeyondTheMemoryIsNotRead) {
  const std::string path = dir + "/x.npy";
  const auto said = [&](const std::string& text) {
    return text.substr(0, text.find(" but this machine has "));
  };
  const std::string head = npy_head(std::to_string(8 * kTiB));
  write(path, head);
  fs::resize_file(path, head.size() + 8 * kTiB);
  EXPECT_EQ(said(message<ts::IoError>([&] { ts::load_npy(path); })),
            "load_npy: " + path + ": its elements take 8796093022208 bytes,");
#ifndef TESSERA_TEST_SANITIZED
  const std::uint64_t some = std::uint64_t{1} << 30;
  const std::string less = npy_head(std::to_string(some));
  write(path, less);
  fs::resize_file(path, less.size() + some);
  const MemoryLimit limit(std::uint64_t{256} << 20);
  EXPECT_EQ(message<ts::IoError>([&] { ts::load_npy(path); }),
            "load_npy: " + path +
                ": there is no memory for the 1073741824 bytes of its elements\n"
                "  try: let go of arrays, or load it on a larger machine");
#endif
}

// A member that is stored uncompressed, in an archive with a hole of the same size.
TEST_F(Unreadable, AMemberBeyondTheMemoryIsNotRead) {
  const std::string path = dir + "/x.npz", name = "x.npy";
  const auto archive = [&](std::uint64_t elements) {
    const std::string head = npy_head(std::to_string(elements));
    const std::uint64_t size = head.size() + elements;
    const std::string sizes = number(~0u, 4) + number(~0u, 4),
                      wide = number(1, 2) + number(16, 2) + number(size, 8) + number(size, 8),
                      what = number(45, 2) + number(0, 2) + number(0, 2) + number(0, 2) +
                             number(33, 2) + number(0, 4) + sizes + number(name.size(), 2) +
                             number(wide.size(), 2);
    const std::string local = number(0x04034b50, 4) + what + name + wide;
    const std::string central = number(0x02014b50, 4) + number(45, 2) + what + number(0, 2) +
                                number(0, 2) + number(0, 2) + number(0, 4) + number(0, 4) + name +
                                wide;
    const std::uint64_t at = local.size() + size, end = at + central.size();
    const std::string tail =
        central + number(0x06064b50, 4) + number(44, 8) + number(45, 2) + number(45, 2) +
        number(0, 4) + number(0, 4) + number(1, 8) + number(1, 8) + number(central.size(), 8) +
        number(at, 8) + number(0x07064b50, 4) + number(0, 4) + number(end, 8) + number(1, 4) +
        number(0x06054b50, 4) + number(0, 2) + number(0, 2) + number(1, 2) + number(1, 2) +
        number(central.size(), 4) + number(~0u, 4) + number(0, 2);
    write(path, local + head);
    fs::resize_file(path, at);
    std::ofstream(path, std::ios::binary | std::ios::app) << tail;
  };
  archive(8 * kTiB);
  const std::string said = message<ts::IoError>([&] { ts::load_npz(path); });
  EXPECT_EQ(said.substr(0, said.find(" but this machine has ")),
            "load_npz: " + path + ": 'x.npy' in it: with it the members take 8796093022336 bytes,");
#ifndef TESSERA_TEST_SANITIZED
  archive(std::uint64_t{1} << 30);
  const MemoryLimit limit(std::uint64_t{256} << 20);
  EXPECT_EQ(message<ts::IoError>([&] { ts::load_npz(path); }),
            "load_npz: " + path +
                ": 'x.npy' in it: there is no memory for the 1073741824 bytes of its elements\n"
                "  try: let go of arrays, or load it on a larger machine");
#endif
}

TEST_F(Unreadable, AHeaderBeyondTheMemoryIsNotRead) {
#ifndef TESSERA_TEST_SANITIZED
  const std::string path = dir + "/x.safetensors";
  write(path, number(90'000'000, 8));
  fs::resize_file(path, 8 + 90'000'000);
  const MemoryLimit limit(std::uint64_t{48} << 20);
  EXPECT_EQ(message<ts::IoError>([&] { ts::load_safetensors(path); }),
            "load: " + path +
                ": there is no memory for its header of 90000000 bytes\n"
                "  try: let go of arrays, or load it on a larger machine");
#endif
}
