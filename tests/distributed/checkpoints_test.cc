// Checkpoints of several processes: any number of processes saves and any other number restores,
// and killing one loses nothing.
#include <tessera/checkpoint.h>

#include "checkpoints/files.h"
#include "checkpoints/kills.h"
#include "checkpoints/slow_disk.h"
#include "distributed/launch.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using distributed_test::launcher;
using distributed_test::Outcome;
using distributed_test::starts;

class Checkpoints : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-checkpoints-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
  }
  void TearDown() override { fs::remove_all(dir); }
  Outcome run(int processes, const std::string& mode, const std::string& more = "") const {
    const std::string child = checkpoint_test::child() + " " + mode + " " + dir + " " + more;
    return distributed_test::run(
        processes == 0 ? child : launcher() + " -n " + std::to_string(processes) + " " + child);
  }
  // The output without source lines and the folder's name.
  std::string plain(const std::string& said) const {
    std::string text = std::regex_replace(said, std::regex("child\\.cc:\\d+"), "child.cc:L");
    for (std::size_t at; (at = text.find(dir)) != std::string::npos;)
      text.replace(at, dir.size(), "DIR");
    return text;
  }
  // The output of each process, without the launcher's additions.
  std::string said(int processes, const std::string& mode) const {
    const Outcome o = run(processes, mode);
    EXPECT_NE(o.code, 0) << mode;
    return plain(o.out);
  }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> all;
    for (const auto& e : fs::directory_iterator(folder)) all.push_back(e.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  std::string dir;
};
using Names = std::vector<std::string>;

}  // namespace

TEST_F(Checkpoints, OfAnyNumberOfProcessesAreRestoredByAnyOther) {
  NEEDS_A_LAUNCHER();
  for (const int from : {0, 2, 4}) {
    const Outcome saved = run(from, "save");
    ASSERT_EQ(saved.out, "saved\n") << from;
    Names files{"manifest.json"};
    std::uintmax_t bytes = 0;
    for (int p = 0; p < std::max(from, 1); ++p) {
      files.push_back("shards-" + std::to_string(p) + "-of-" + std::to_string(std::max(from, 1)) +
                      ".safetensors");
      bytes += fs::file_size(dir + "/1/" + files.back());
    }
    EXPECT_EQ(names_in(dir + "/1"), files);
    EXPECT_EQ(names_in(dir), Names{"1"});
    // Five arrays of 1536 bytes, once, and the headers.
    EXPECT_LT(bytes, 5 * 1536 + 24 + 4000u);
    for (const int to : {0, 2, 4, 8}) {
      if (to == from) continue;
      const Outcome back = run(to, "load");
      EXPECT_EQ(back.out, "as saved\n") << from << " to " << to;
    }
  }
}

// Each process writes its own parts of the arrays, from a thread of its own.
TEST_F(Checkpoints, AreSavedWhereReadsAreGathered) {
  NEEDS_A_LAUNCHER();
  ::setenv("TESSERA_GATHER_READS", "1", 1);
  const Outcome saved = run(2, "save");
  ::unsetenv("TESSERA_GATHER_READS");
  ASSERT_EQ(saved.out, "saved\n");
  EXPECT_EQ(run(0, "load").out, "as saved\n");
}

// A process that waits for the first one to publish a step may find that the step has already been
// removed as an old one.
TEST_F(Checkpoints, StepsThatAreTrimmedAtOnceWereMade) {
  NEEDS_A_LAUNCHER();
  EXPECT_EQ(run(2, "haste").out, "saved\n");
  EXPECT_EQ(names_in(dir), Names{"59"});
}

TEST_F(Checkpoints, TreesThatDifferAreRefusedByAll) {
  NEEDS_A_LAUNCHER();
  const std::string text = said(2, "differ");
  const std::string says =
      "checkpoint::save: process 0 and process 1 cannot save step 2 together: they were not given "
      "the same\n"
      "  - process 0: one int32() in each process\n"
      "  - process 1: more float32(2,) in each process\n"
      "  rule: all processes pass the same folder, step, tree and options\n"
      "  from: child.cc:L\n"
      "  try: look at what makes them differ: a condition on process_index()?\n";
  for (const char* p : {"process 0: ", "process 1: "})
    EXPECT_NE(text.find(p + says), std::string::npos) << text;
  EXPECT_EQ(names_in(dir), Names{});
}

// The arguments of a restore must be equal in all processes. A refused one leaves the processes as
// they were, so that they make all of these requests in one run.
TEST_F(Checkpoints, RestoresThatDifferAreRefusedByAll) {
  NEEDS_A_LAUNCHER();
  struct Case {
    std::string what, first, second;
  };
  const std::vector<Case> cases{
      {"step", "step 1", "step 2"},
      {"newest", "the newest step", "step 2"},
      {"missing", "step 1", "step 9"},
      {"only", "only 'b'", "only 'a'"},
      {"lack", "may_lack nothing", "may_lack 'c'"},
      {"renamed", "verify", "renamed 'x' to 'y'"},
      {"verify", "verify", "not verify"},
      {"folder", "folder DIR", "folder DIR/elsewhere"},
      {"tree", "nothing more", "c float32(2,) in each process"},
      {"shape", "a float32(3,) in each process", "a float32(4,) in each process"},
      {"dtype", "a float32(3,) in each process", "a int32(3,) in each process"},
      {"specs", "a float32(3,) in each process", "a float32(3,) in each process to P()"},
      {"arrays", "step 1", "step 2"},
      {"save", "folder DIR", "folder DIR/elsewhere"}};
  std::string whats = "same", told[2];
  for (const Case& c : cases) {
    whats += "," + c.what;
    for (const int process : {0, 1}) {
      const std::string in = process == 1 && c.what == "folder" ? "DIR/elsewhere" : "DIR",
                        function = c.what == "arrays" ? "restore_arrays"
                                   : c.what == "save" ? "save"
                                                      : "restore";
      told[process] += c.what + ": checkpoint::" + function + ": process 0 and process 1 cannot " +
                       (c.what == "save" ? "save step 3" : "restore from " + in) +
                       " together: they were not given the same\n  - process 0: " + c.first +
                       "\n  - process 1: " + c.second +
                       "\n  rule: all processes pass the same folder, step, tree and options\n"
                       "  from: child.cc:L\n"
                       "  try: look at what makes them differ: a condition on "
                       "process_index()?\n";
    }
  }
  const Outcome o = run(2, "ask", whats + ",same");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "as asked\nas asked\n");
  for (const int process : {0, 1}) {
    const std::string file = dir + "/told-" + std::to_string(process);
    EXPECT_EQ(plain(checkpoint_test::read(file)), told[process]);
    fs::remove(file);
  }
  EXPECT_EQ(names_in(dir), (Names{"1", "2"}));
}

TEST_F(Checkpoints, WhatEachHasForItselfIsToBeTheSame) {
  NEEDS_A_LAUNCHER();
  const std::string text = said(2, "own");
  EXPECT_NE(text.find("process 0: checkpoint::save: step 2 of DIR is not saved: 'key' is not the "
                      "same in processes 0 and 1, and it is no array over devices of both\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("process 1: checkpoint::save: step 2 of DIR is not saved: process 0 "),
            std::string::npos)
      << text;
  EXPECT_EQ(names_in(dir), Names{});
}

TEST_F(Checkpoints, WhatOneCannotSaveNoneSaves) {
  NEEDS_A_LAUNCHER();
  const std::string text = said(2, "fail");
  EXPECT_NE(text.find("process 0: checkpoint::save: another process cannot save step 2\n"
                      "  - process 1: checkpoint::save: the tree has leaves without values\n"
                      "      - the value is f32[2] abstract, which has no values\n"
                      "      rule: a checkpoint is of arrays that have values, or are being "
                      "computed\n"
                      "      from: child.cc:L\n"
                      "      try: save what the last call returned, outside of the functions that "
                      "are traced\n"
                      "  rule: all processes do it, or none\n"
                      "  from: child.cc:L\n"
                      "  try: look at what that process says\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(names_in(dir), Names{});
}

// All processes find out before anything is written, and none waits for the other's folder.
TEST_F(Checkpoints, IntoDifferentFoldersAreRefusedByAll) {
  NEEDS_A_LAUNCHER();
  const std::string text = said(2, "apart");
  for (const char* process : {"process 0", "process 1"})
    EXPECT_NE(text.find(process + std::string(": checkpoint::save: process 0 and process 1 cannot "
                                              "save step 2 together: they were not given the same\n"
                                              "  - process 0: folder DIR/0\n"
                                              "  - process 1: folder DIR/1\n")),
              std::string::npos)
        << text;
}

TEST_F(Checkpoints, DamageIsAnErrorInAll) {
  NEEDS_A_LAUNCHER();
  ASSERT_EQ(run(2, "save").out, "saved\n");
  // The last byte of the second process's file, which some other process needs.
  const std::string path = dir + "/1/shards-1-of-2.safetensors";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x55');
  file.close();
  const std::string text = said(4, "load");
  for (const char* p : {"process 0: ", "process 1: ", "process 2: ", "process 3: "})
    EXPECT_NE(text.find(p), std::string::npos) << text;
  EXPECT_NE(text.find("  - shards-1-of-2.safetensors: "), std::string::npos) << text;
  EXPECT_NE(text.find("another process cannot restore step 1 of DIR"), std::string::npos) << text;
}

// Flips a bit in every sixteenth byte of each file that two processes wrote; a restore by four
// processes reports the same.
TEST_F(Checkpoints, DamageOfAnyFileIsFound) {
  NEEDS_A_LAUNCHER();
  ASSERT_EQ(run(2, "save").out, "saved\n");
  const Names files = names_in(dir + "/1");
  ASSERT_EQ(files,
            (Names{"manifest.json", "shards-0-of-2.safetensors", "shards-1-of-2.safetensors"}));
  for (const std::string& name : files) {
    const std::string path = dir + "/1/" + name, bytes = checkpoint_test::read(path);
    for (std::size_t at = 0; at < bytes.size(); at += 16) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ (1 << (at / 16 % 8)));
      checkpoint_test::write(path, other);
      const Names found = tessera::checkpoint::verify(dir, 1);
      ASSERT_EQ(found.size(), 1u) << name << ", byte " << at;
      ASSERT_EQ(found[0].substr(0, found[0].find(':')), name);
    }
    checkpoint_test::write(path, bytes);
  }
  EXPECT_EQ(tessera::checkpoint::verify(dir, 1), Names{});
  EXPECT_EQ(run(4, "load").out, "as saved\n");
}

// If a folder cannot be made, all processes report the error.
TEST_F(Checkpoints, FoldersThatCannotBeAreAnErrorInAll) {
  NEEDS_A_LAUNCHER();
  checkpoint_test::write(dir + "/file", "x");
  const std::string whole = dir;
  dir += "/file";
  const std::string text = said(2, "save");
  dir = whole;
  const auto why = [](const std::string& indent) {
    return "process 0: checkpoint::save: step 1 of DIR is not saved: Not a directory\n" + indent +
           "  rule: a step is there as a whole or not at all; those that were there are kept\n" +
           indent + "  from: child.cc:L\n" + indent +
           "  try: check that the folder is writable, and the space that is left on the disk\n";
  };
  for (const std::string& said :
       {why(""), "process 1: checkpoint::save: another process cannot save step 1\n  - " +
                     why("    ") +
                     "  rule: all processes do it, or none\n"
                     "  from: child.cc:L\n"
                     "  try: look at what that process says\n"})
    EXPECT_NE(text.find(said), std::string::npos) << text;
  EXPECT_EQ(names_in(dir), Names{"file"});
}

// One, two and four processes run in random order; each run restores what another number of
// processes saved.
TEST_F(Checkpoints, KillsLeaveEveryStepThatWasMade) {
  NEEDS_A_LAUNCHER();
  std::mt19937 draw(std::random_device{}());
  checkpoint_test::kill_again_and_again(checkpoint_test::kills(), [&](int, std::int64_t steps) {
    const int processes = 1 << draw() % 3;
    std::vector<std::string> command{DISTRIBUTED_LAUNCHER,     "-n",    std::to_string(processes),
                                     checkpoint_test::child(), "train", dir,
                                     std::to_string(steps)};
    return std::pair(command, processes);
  });
}

namespace {

// Two processes that save to a slow disk.
class CheckpointsOnASlowDisk : public Checkpoints {
 protected:
  void SetUp() override {
    Checkpoints::SetUp();
    disk.emplace(dir);
  }
  void TearDown() override {
    // The disk is unmounted first, because processes that end wait for their saves to it.
    disk.reset();
    run.reset();
    Checkpoints::TearDown();
  }
  std::string start(int processes) {
    std::vector<std::string> command{"timeout",
                                     "-k",
                                     "5",
                                     "120",
                                     DISTRIBUTED_LAUNCHER,
                                     "-n",
                                     std::to_string(processes),
                                     checkpoint_test::child(),
                                     "obey",
                                     disk->mount + "/run",
                                     "1"};
    run.emplace(std::move(command));
    return run->answer();
  }
  std::string run_folder() const { return disk->folder + "/run"; }
  Names names() const {
    Names all;
    for (const std::string& name : names_in(run_folder()))
      all.push_back(checkpoint_test::undrawn(name));
    return all;
  }
  std::optional<std::int64_t> newest() const {
    return tessera::checkpoint::latest_intact_step(run_folder());
  }
  // The answers of both processes.
  static std::string both(const std::string& answer) { return answer + "\n" + answer; }
  // Step 5 is complete, and both processes wait for the disk during step 10.
  void save_until_it_stands_still() {
    ASSERT_EQ(start(2), both("step 0 is right"));
    EXPECT_EQ(run->ask("train"), both("step 5 is right"));
    EXPECT_EQ(run->ask("save"), both("saving 5 behind"));
    EXPECT_EQ(run->ask("wait"), both("there are 5"));
    disk->hold();
    EXPECT_EQ(run->ask("train"), both("step 10 is right"));
    EXPECT_EQ(run->ask("save"), both("saving 10 behind 5"));
    disk->await("alive-0");
    disk->await("alive-1");
  }
  // Lets operations through, up to and including this one.
  checkpoint_test::SlowDisk::Operation go_on_to(const std::string& what) {
    for (;;) {
      const auto o = disk->await();
      EXPECT_EQ(newest(), 5);
      if (o.number.empty() || checkpoint_test::undrawn(o.what) == what) return o;
      disk->let(o);
    }
  }

  std::optional<checkpoint_test::SlowDisk> disk;
  std::optional<checkpoint_test::Obeying> run;
};

}  // namespace

// A step of two shards is replaced after the first was read: everything that is read must come from
// one save.
TEST_F(CheckpointsOnASlowDisk, ARestoreIsOfOneSave) {
  NEEDS_A_LAUNCHER();
  NEEDS_A_SLOW_DISK(*disk);
  const std::string whole = dir;
  for (const bool verify : {true, false})
    for (const char* file : {"manifest.json", "shards-0-of-2", "shards-1-of-2"}) {
      SCOPED_TRACE(std::string(file) + (verify ? ", verified" : ""));
      dir = run_folder();
      fs::remove_all(dir);
      ASSERT_EQ(Checkpoints::run(2, "stamp", "1").out, "stamped\n");
      disk->hold_opens();
      auto restored = std::async(std::launch::async, [&] {
        return tessera::checkpoint::restore_arrays(disk->mount + "/run", {.verify = verify});
      });
      for (auto o = disk->await("open"); o.what.find(file) == std::string::npos;
           o = disk->await("open"))
        disk->let(o);
      ASSERT_EQ(Checkpoints::run(2, "stamp", "2").out, "stamped\n");
      disk->open();
      std::set<int> values;
      for (const auto& [name, x] : restored.get())
        for (const int v : x.to_vector<int>()) values.insert(v);
      EXPECT_EQ(values.size(), 1u);
      dir = whole;
    }
}

TEST_F(CheckpointsOnASlowDisk, TheProgramGoesOnUntilItsNextSave) {
  NEEDS_A_LAUNCHER();
  NEEDS_A_SLOW_DISK(*disk);
  save_until_it_stands_still();
  for (const char* step : {"15", "20"})
    EXPECT_EQ(run->ask("train"), both(std::string("step ") + step + " is right"));
  EXPECT_EQ(run->ask("steps"), both("there are 5"));
  run->tell("save");
  const auto made = go_on_to("rename run/.saving-10 run/10");
  EXPECT_TRUE(run->is_silent()) << run->process.text();
  EXPECT_EQ(names(), (Names{".saving-10", "5"}));
  disk->let(made);
  EXPECT_EQ(tessera::checkpoint::verify(run_folder(), 10), Names{});
  disk->open();
  EXPECT_EQ(run->answer(), both("saving 20 behind 5 10"));
  EXPECT_EQ(run->ask("wait"), both("there are 5 10 20"));
  EXPECT_EQ(tessera::checkpoint::verify(run_folder(), 20), Names{});
  EXPECT_EQ(run->ask("restore"), both("step 20 is right"));
  EXPECT_EQ(run->process.end(), 0) << run->process.text();
}

// Kills each of the two processes while it writes its own file.
TEST_F(CheckpointsOnASlowDisk, AKillOfOneLeavesTheStepBefore) {
  NEEDS_A_LAUNCHER();
  NEEDS_A_SLOW_DISK(*disk);
  for (const int killed : {0, 1})
    for (const bool lost : {true, false}) {
      SCOPED_TRACE("process " + std::to_string(killed) + (lost ? ", lost" : ", done"));
      fs::remove_all(run_folder());
      save_until_it_stands_still();
      const std::string pids = run->ask("pid");
      go_on_to("write run/.saving-10/shards-" + std::to_string(killed) + "-of-2.safetensors");
      const pid_t pid = std::stoi(killed == 0 ? pids : pids.substr(pids.find('\n') + 1));
      ASSERT_GT(pid, 0);
      ASSERT_EQ(::kill(pid, SIGKILL), 0);
      if (lost) disk->break_down(EIO);
      disk->open();
      EXPECT_NE(run->process.end(), 0) << run->process.text();
      EXPECT_EQ(newest(), 5);
      // The number of processes that are left.
      const int processes = lost ? 1 : 2;
      const auto all = [&](const char* answer) { return processes == 1 ? answer : both(answer); };
      ASSERT_EQ(start(processes), all("step 5 is right"));
      EXPECT_EQ(run->ask("train"), all("step 10 is right"));
      EXPECT_EQ(run->ask("save"), all("saving 10 behind 5"));
      EXPECT_EQ(run->ask("wait"), all("there are 5 10"));
      EXPECT_EQ(names(), (Names{"10", "5"}));
      EXPECT_EQ(tessera::checkpoint::verify(run_folder(), 10), Names{});
      EXPECT_EQ(run->process.end(), 0) << run->process.text();
    }
}

TEST_F(CheckpointsOnASlowDisk, WhatFailsInOneIsAnErrorOfTheNextCallInAll) {
  NEEDS_A_LAUNCHER();
  NEEDS_A_SLOW_DISK(*disk);
  struct Case {
    std::string at;
    int error;
    std::string says;
  };
  const std::string name = "shards-1-of-2.safetensors", file = "run/.saving-10/" + name,
                    shards = name + " cannot be ";
  for (const Case& c :
       std::vector<Case>{{"write " + file, ENOSPC, "written: No space left on device"},
                         {"fsync " + file, EIO, "brought to the disk: Input/output error"}}) {
    SCOPED_TRACE(c.at);
    fs::remove_all(run_folder());
    save_until_it_stands_still();
    const auto o = go_on_to(c.at);
    EXPECT_EQ(run->ask("train"), both("step 15 is right"));
    disk->fail(o, c.error);
    disk->open();
    std::string said = checkpoint_test::undrawn(run->ask("save"));
    for (std::size_t at; (at = said.find(dir)) != std::string::npos;)
      said.replace(at, dir.size(), "DIR");
    const auto error = [](const std::string& problem, const std::string& advice) {
      return "checkpoint::save: step 10 of DIR/mount/run is not saved: " + problem +
             "\n  rule: a step is there as a whole or not at all; those that were there are kept"
             "\n  from: child.cc:L\n  try: " +
             advice;
    };
    const std::string advice =
        "check that the folder is writable, and the space that is left on the disk";
    EXPECT_EQ(said, error("process 1: " + shards + c.says + "\n      try: " + advice,
                          "look at what process 1 says") +
                        "\n" + error(shards + c.says, advice));
    EXPECT_EQ(names(), Names{"5"});
    EXPECT_EQ(run->ask("save"), both("saving 15 behind 5"));
    EXPECT_EQ(run->ask("wait"), both("there are 5 15"));
    EXPECT_EQ(tessera::checkpoint::verify(run_folder(), 15), Names{});
    EXPECT_EQ(run->process.end(), 0) << run->process.text();
  }
}
