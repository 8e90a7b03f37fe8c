// Saves to a disk that stops, continues, and fails: what the program sees, and which steps exist.
#include <tessera/checkpoint.h>

#include "checkpoints/folder.h"
#include "checkpoints/kills.h"
#include "checkpoints/slow_disk.h"

#include <signal.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ts = tessera;
namespace fs = std::filesystem;
using checkpoint_test::undrawn;

namespace {

using Names = std::vector<std::string>;
using Operation = checkpoint_test::SlowDisk::Operation;

class SlowDisks : public checkpoint_test::InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    disk.emplace(dir);
  }
  void TearDown() override {
    // The disk is unmounted first, because the program's end waits for its saves to it.
    disk.reset();
    run.reset();
    InFolder::TearDown();
  }
  /// Starts a run that saves in the folder "run" of the disk; returns its position.
  std::string start(int most = 1) {
    run.emplace(std::vector<std::string>{checkpoint_test::child(), "obey", disk->mount + "/run",
                                         std::to_string(most)});
    return run->answer();
  }
  std::string run_folder() const { return disk->folder + "/run"; }
  Names names() const {
    Names all;
    for (const std::string& name : names_in(run_folder())) all.push_back(undrawn(name));
    return all;
  }
  std::optional<std::int64_t> newest() const {
    return ts::checkpoint::latest_intact_step(run_folder());
  }
  /// Step 5 is complete, and step 10 waits for the disk while the program is five steps further.
  void save_until_it_stands_still() {
    ASSERT_EQ(start(), "step 0 is right");
    EXPECT_EQ(run->ask("train"), "step 5 is right");
    EXPECT_EQ(run->ask("save"), "saving 5 behind");
    EXPECT_EQ(run->ask("wait"), "there are 5");
    disk->hold();
    EXPECT_EQ(run->ask("train"), "step 10 is right");
    EXPECT_EQ(run->ask("save"), "saving 10 behind 5");
    EXPECT_EQ(run->ask("train"), "step 15 is right");
  }
  /// Lets operations through, up to and including this one.
  Operation go_on_to(const std::string& what) {
    for (;;) {
      const Operation o = disk->await();
      if (o.number.empty() || undrawn(o.what) == what) return o;
      disk->let(o);
    }
  }
  /// The next run continues from the existing steps.
  void take_up(std::int64_t step) {
    ASSERT_EQ(start(), "step " + std::to_string(step) + " is right");
    const std::string next = std::to_string(step + 5);
    EXPECT_EQ(run->ask("train"), "step " + next + " is right");
    run->ask("save");
    run->ask("wait");
    EXPECT_EQ(ts::checkpoint::verify(run_folder(), step + 5), Names{});
    EXPECT_EQ(run->ask("restore"), "step " + next + " is right");
    // Nothing is left of saves in progress.
    for (const std::string& name : names()) EXPECT_EQ(name.find("saving"), std::string::npos);
    EXPECT_EQ(run->process.end(), 0) << run->process.text();
  }

  std::optional<checkpoint_test::SlowDisk> disk;
  std::optional<checkpoint_test::Obeying> run;
};

const std::string kShards = "run/.saving-10/shards-0-of-1.safetensors",
                  kManifest = "run/.saving-10/manifest.json",
                  kRename = "rename run/.saving-10 run/10";

}  // namespace

TEST_F(SlowDisks, TheProgramGoesOnUntilItsNextSave) {
  NEEDS_A_SLOW_DISK(*disk);
  save_until_it_stands_still();
  disk->await("write");
  for (const char* step : {"20", "25", "30"})
    EXPECT_EQ(run->ask("train"), std::string("step ") + step + " is right");
  EXPECT_EQ(run->ask("steps"), "there are 5");
  // The next save waits until the first is finished; until the rename, the previous step exists.
  run->tell("save");
  Names through;
  for (bool made = false; !made;) {
    const Operation o = disk->await();
    ASSERT_FALSE(o.number.empty());
    EXPECT_TRUE(run->is_silent()) << run->process.text();
    EXPECT_EQ(newest(), 5);
    EXPECT_EQ(names(), (Names{".saving-10", "5"}));
    const std::string what = undrawn(o.what);
    if (through.empty() || through.back() != what) through.push_back(what);
    made = what.starts_with("rename");
    disk->let(o);
  }
  // The contents are on disk before the name is.
  EXPECT_EQ(through, (Names{"write " + kShards, "fsync " + kShards, "write " + kManifest,
                            "fsync " + kManifest, "fsync run/.saving-10/", kRename}));
  EXPECT_EQ(names(), (Names{"10", "5"}));
  EXPECT_EQ(ts::checkpoint::verify(run_folder(), 10), Names{});
  const Operation last = disk->await();
  EXPECT_EQ(last.what, "fsync run/");
  EXPECT_TRUE(run->is_silent()) << run->process.text();
  disk->let(last);
  EXPECT_EQ(run->answer(), "saving 30 behind 5 10");

  disk->await("write run/.saving-30-");
  EXPECT_EQ(run->ask("train"), "step 35 is right");
  EXPECT_EQ(newest(), 10);
  disk->open();
  EXPECT_EQ(run->ask("wait"), "there are 5 10 30");
  EXPECT_EQ(ts::checkpoint::verify(run_folder(), 30), Names{});
  EXPECT_EQ(run->ask("restore"), "step 30 is right");
  EXPECT_EQ(run->process.end(), 0) << run->process.text();
}

// The call makes the folder of the run, which is synced to the disk with the step.
TEST_F(SlowDisks, TheFirstSaveReturnsToo) {
  NEEDS_A_SLOW_DISK(*disk);
  ASSERT_EQ(start(), "step 0 is right");
  disk->hold();
  EXPECT_EQ(run->ask("save"), "saving 0 behind");
  EXPECT_EQ(run->ask("train"), "step 5 is right");
  const Operation o = go_on_to("fsync /");
  EXPECT_EQ(names(), Names{".saving-0"});
  disk->let(o);
  EXPECT_EQ(disk->await().what.find("fsync run/.saving-0-"), 0u);
  disk->open();
  EXPECT_EQ(run->ask("wait"), "there are 0");
  EXPECT_EQ(ts::checkpoint::verify(run_folder(), 0), Names{});
}

TEST_F(SlowDisks, AsManyAreUnderWayAsAreAskedFor) {
  NEEDS_A_SLOW_DISK(*disk);
  ASSERT_EQ(start(2), "step 0 is right");
  EXPECT_EQ(run->ask("save"), "saving 0 behind");
  EXPECT_EQ(run->ask("wait"), "there are 0");
  disk->hold();
  EXPECT_EQ(run->ask("train"), "step 5 is right");
  EXPECT_EQ(run->ask("save"), "saving 5 behind 0");
  EXPECT_EQ(run->ask("train"), "step 10 is right");
  EXPECT_EQ(run->ask("save"), "saving 10 behind 0");
  disk->await("write run/.saving-5-");
  disk->await("write run/.saving-10-");
  EXPECT_EQ(run->ask("train"), "step 15 is right");
  EXPECT_EQ(names(), (Names{".saving-10", ".saving-5", "0"}));
  run->tell("save");
  EXPECT_TRUE(run->is_silent()) << run->process.text();
  disk->open();
  // It does not wait for the second save, which may be complete or not.
  EXPECT_EQ(run->answer().find("saving 15 behind 0 5"), 0u);
  EXPECT_EQ(run->ask("wait"), "there are 0 5 10 15");
  for (const std::int64_t step : {5, 10, 15})
    EXPECT_EQ(ts::checkpoint::verify(run_folder(), step), Names{});
}

// The process is killed at each kind of operation; the waiting operation is then lost, or carried
// out after the death.
TEST_F(SlowDisks, AKillLeavesTheStepBefore) {
  NEEDS_A_SLOW_DISK(*disk);
  for (const std::string& at :
       Names{"write " + kShards, "fsync " + kShards, "write " + kManifest, "fsync " + kManifest,
             "fsync run/.saving-10/", kRename, "fsync run/"})
    for (const bool lost : {true, false}) {
      SCOPED_TRACE(at + (lost ? ", lost" : ", done"));
      fs::remove_all(run_folder());
      save_until_it_stands_still();
      const Operation o = go_on_to(at == "fsync run/" ? kRename : at);
      if (at == "fsync run/") {
        disk->let(o);
        EXPECT_EQ(disk->await().what, at);
      }
      ASSERT_EQ(::kill(run->process.pid, SIGKILL), 0);
      if (lost) disk->break_down(EIO);
      disk->open();
      EXPECT_EQ(run->process.end(), 128 + SIGKILL);
      // All of the step was on disk before it was renamed.
      const bool made = at == "fsync run/" || (at == kRename && !lost);
      EXPECT_EQ(names(), made ? (Names{"10", "5"}) : (Names{".saving-10", "5"}));
      EXPECT_EQ(newest(), made ? 10 : 5);
      take_up(made ? 10 : 5);
    }
}

TEST_F(SlowDisks, WhatFailsIsAnErrorOfTheNextCall) {
  NEEDS_A_SLOW_DISK(*disk);
  struct Case {
    std::string at;
    int error;
    std::string says;
  };
  const std::string place = "it cannot be put into its place: ",
                    shards = "shards-0-of-1.safetensors cannot be ", io = "Input/output error",
                    full = "No space left on device";
  for (const Case& c :
       std::vector<Case>{{"write " + kShards, EIO, shards + "written: " + io},
                         {"write " + kShards, ENOSPC, shards + "written: " + full},
                         {"fsync " + kShards, EIO, shards + "brought to the disk: " + io},
                         {"fsync " + kShards, ENOSPC, shards + "brought to the disk: " + full},
                         {"write " + kManifest, ENOSPC, "manifest.json cannot be written: " + full},
                         {"fsync " + kManifest, EIO, "manifest.json cannot be written: " + io},
                         {"fsync run/.saving-10/", EIO, place + io},
                         {kRename, EIO, place + io},
                         {"fsync run/", EIO, place + io}})
    for (const std::string call : {"save", "wait"}) {
      SCOPED_TRACE(c.at + ", " + c.says + ", " + call);
      fs::remove_all(run_folder());
      save_until_it_stands_still();
      // Part of the file exists already, or the folder has its new name.
      if (c.at == "write " + kShards)
        for (int i = 0; i < 3; ++i) disk->let(disk->await("write"));
      Operation o = go_on_to(c.at == "fsync run/" ? kRename : c.at);
      if (c.at == "fsync run/") {
        disk->let(o);
        o = disk->await("fsync");
        EXPECT_EQ(o.what, c.at);
        EXPECT_EQ(names(), (Names{"10", "5"}));
      }
      EXPECT_EQ(run->ask("train"), "step 20 is right");
      disk->fail(o, c.error);
      disk->open();
      EXPECT_EQ(undrawn(plain(run->ask(call))),
                "checkpoint::save: step 10 of DIR/mount/run is not saved: " + c.says +
                    "\n  rule: a step is there as a whole or not at all; those that were there are "
                    "kept\n  from: child.cc:L\n  try: check that the folder is writable, and the "
                    "space that is left on the disk");
      EXPECT_EQ(names(), Names{"5"});
      // The error is thrown once, and the disk works again.
      EXPECT_EQ(run->ask("save"), "saving 20 behind 5");
      EXPECT_EQ(run->ask("wait"), "there are 5 20");
      EXPECT_EQ(ts::checkpoint::verify(run_folder(), 20), Names{});
      EXPECT_EQ(run->process.end(), 0) << run->process.text();
    }
}

TEST_F(SlowDisks, ADiskThatStaysBrokenIsAnErrorOfEachSave) {
  NEEDS_A_SLOW_DISK(*disk);
  save_until_it_stands_still();
  disk->await("write");
  disk->break_down(EIO);
  const auto said = [&](const char* call) {
    const std::string text = undrawn(plain(run->ask(call)));
    return text.substr(0, text.find('\n'));
  };
  const auto not_saved = [](const char* step) {
    return std::string("checkpoint::save: step ") + step +
           " of DIR/mount/run is not saved: shards-0-of-1.safetensors cannot be written: "
           "Input/output error";
  };
  EXPECT_EQ(said("save"), not_saved("10"));
  EXPECT_EQ(said("save"), "saving 15 behind 5");
  EXPECT_EQ(said("save"), not_saved("15"));
  EXPECT_EQ(names(), Names{"5"});
  EXPECT_EQ(newest(), 5);
  EXPECT_EQ(run->process.end(), 0) << run->process.text();
}

TEST_F(SlowDisks, WhatIsNotWrittenOverAfterAllIsAsItWas) {
  NEEDS_A_SLOW_DISK(*disk);
  ASSERT_EQ(start(), "step 0 is right");
  EXPECT_EQ(run->ask("train"), "step 5 is right");
  EXPECT_EQ(run->ask("save"), "saving 5 behind");
  EXPECT_EQ(run->ask("wait"), "there are 5");
  EXPECT_EQ(run->ask("train"), "step 10 is right");
  disk->hold();
  EXPECT_EQ(run->ask("save over 5"), "saving over 5");
  disk->let(go_on_to("rename run/.saving-5 run/5"));
  const Operation o = disk->await("fsync run/");
  EXPECT_EQ(names(), (Names{".saving-5", "5"}));
  disk->fail(o, EIO);
  disk->open();
  const std::string said = plain(run->ask("wait"));
  EXPECT_EQ(said.substr(0, said.find('\n')),
            "checkpoint::save: step 5 of DIR/mount/run is not saved: it cannot be put into its "
            "place: Input/output error");
  EXPECT_EQ(names(), Names{"5"});
  EXPECT_EQ(run->ask("restore"), "step 5 is right");
  EXPECT_EQ(run->process.end(), 0) << run->process.text();
}
