// Reading steps that others replace and remove meanwhile, on a disk where the test controls how
// long opening a file takes: everything that is read comes from one save, and no sound step is
// called damaged.
#include <tessera/checkpoint.h>
#include <tessera/checkpoint_manager.h>
#include <tessera/creation.h>

#include "checkpoints/folder.h"
#include "checkpoints/slow_disk.h"
#include "message.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fs = std::filesystem;
namespace ts = tessera;
using checkpoint_test::same;
using checkpoint_test::SlowDisk;
using ts::Array;

namespace {

using Names = std::vector<std::string>;
using Tree = std::map<std::string, Array>;

class Torn : public checkpoint_test::InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    disk.emplace(dir);
    run = disk->folder + "/run";
    seen = disk->mount + "/run";
  }
  void TearDown() override {
    disk.reset();
    InFolder::TearDown();
  }
  // The arrays of another tree are at other positions in its file.
  static Tree tree(int value, bool more = false) {
    Tree t{{"a", ts::full({300}, value)}, {"b", ts::full({200}, value)}};
    if (more)
      for (const char* name : {"aa", "ab", "ac"}) t[name] = ts::full({100}, value);
    return t;
  }
  static void save(const std::string& to, std::int64_t step, const Tree& t) {
    ts::checkpoint::save(to, step, t, {.overwrite = true});
  }
  /// The result of `f` if `change` happens while it opens its `n`th file.
  template <class F>
  auto while_opening(int n, F f, const std::function<void()>& change) {
    disk->hold_opens();
    auto result = std::async(std::launch::async, f);
    for (int i = 1; i < n; ++i) disk->let(disk->await("open"));
    disk->await("open");
    change();
    disk->open();
    return result.get();
  }
  /// Calls that read a step open its manifest twice, first to see whether it is a manifest, and
  /// then a shard.
  static constexpr int kOpens = 3;
  static Tree restore(const std::string& from, std::optional<std::int64_t> step, bool verify) {
    return ts::checkpoint::restore(from, tree(0), {.step = step, .only = {"**"}, .verify = verify});
  }

  std::optional<SlowDisk> disk;
  std::string run, seen;  // the folder, and the name under which a reader opens it
};

}  // namespace

TEST_F(Torn, ARestoreBesideASaveThatReplacesTheStep) {
  NEEDS_A_SLOW_DISK(*disk);
  for (int n = 1; n <= kOpens; ++n)
    for (const bool verify : {true, false}) {
      SCOPED_TRACE(std::to_string(n) + (verify ? ", verified" : ""));
      fs::remove_all(run);
      save(run, 5, tree(1));
      const Tree back = while_opening(
          n, [&] { return restore(seen, {}, verify); }, [&] { save(run, 5, tree(2, true)); });
      EXPECT_TRUE(same(back, tree(1)) || same(back, tree(2))) << back.at("a") << back.at("b");
    }
}

TEST_F(Torn, ARestoreOfTheNewestWhileItIsTrimmed) {
  NEEDS_A_SLOW_DISK(*disk);
  for (int n = 1; n <= kOpens; ++n) {
    SCOPED_TRACE(n);
    fs::remove_all(run);
    for (const int i : {5, 10}) save(run, i, tree(i));
    const Tree back = while_opening(
        n, [&] { return restore(seen, {}, true); },
        [&] {
          ts::CheckpointManager m(run, {.max_to_keep = 1, .async = false});
          m.save(20, tree(20));
        });
    EXPECT_TRUE(same(back, tree(10)) || same(back, tree(20))) << back.at("a");
  }
}

TEST_F(Torn, AStepThatIsAskedForAndGoesIsNotDamaged) {
  NEEDS_A_SLOW_DISK(*disk);
  for (int n = 1; n <= kOpens; ++n) {
    SCOPED_TRACE(n);
    fs::remove_all(run);
    for (const int i : {5, 10}) save(run, i, tree(i));
    const std::string said = while_opening(
        n,
        [&] {
          try {
            return same(restore(seen, 5, true), tree(5)) ? std::string("whole") : "torn";
          } catch (const ts::IoError& e) {
            const std::string text = e.what();
            return text.substr(0, text.find("\n  from"));
          }
        },
        [&] {
          ts::CheckpointManager m(run, {.max_to_keep = 1, .async = false});
          m.save(20, tree(20));
        });
    if (said != "whole") {
      EXPECT_EQ(plain(said),
                "checkpoint::restore: there is no step 5 in DIR/mount/run\n"
                "  rule: the steps that are there are 20");
    }
  }
}

TEST_F(Torn, VerifiedWhileOthersReplaceAndTrim) {
  NEEDS_A_SLOW_DISK(*disk);
  for (int n = 1; n <= kOpens; ++n) {
    SCOPED_TRACE(n);
    fs::remove_all(run);
    for (const int i : {5, 10}) save(run, i, tree(i));
    EXPECT_EQ(while_opening(
                  n, [&] { return ts::checkpoint::verify(seen, 10); },
                  [&] { save(run, 10, tree(2, true)); }),
              Names{});
    const auto intact = while_opening(
        n, [&] { return ts::checkpoint::latest_intact_step(seen); },
        [&] {
          ts::CheckpointManager m(run, {.max_to_keep = 1, .async = false});
          m.save(20, tree(20));
        });
    EXPECT_TRUE(intact == 10 || intact == 20) << intact.value_or(-1);
  }
}

// Damage that no replacement explains is still reported.
TEST_F(Torn, WhatIsDamagedStaysSo) {
  save(dir, 5, tree(5));
  const std::string file = dir + "/5/shards-0-of-1.safetensors";
  std::string bytes = checkpoint_test::read(file);
  bytes.back() ^= 1;
  checkpoint_test::write(file, bytes);
  EXPECT_EQ(ts::checkpoint::latest_intact_step(dir), std::nullopt);
  EXPECT_EQ(ts::checkpoint::verify(dir, 5).size(), 1u);
  EXPECT_NE(test::message<ts::IoError>([&] { restore(dir, {}, true); }).find("step 5 of"),
            std::string::npos);
}
