// Checkpoints of several processes: any number saves, any other restores, and a kill of one loses
// nothing.
#include "checkpoint/kills.h"
#include "distributed/launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <regex>
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
  Outcome run(int processes, const std::string& mode) const {
    const std::string child = checkpoint_test::child() + " " + mode + " " + dir;
    return distributed_test::run(
        processes == 0 ? child : launcher() + " -n " + std::to_string(processes) + " " + child);
  }
  // What each process says, without lines of the source and what the launcher adds.
  std::string said(int processes, const std::string& mode) const {
    const Outcome o = run(processes, mode);
    EXPECT_NE(o.code, 0);
    std::string text = std::regex_replace(o.out, std::regex("child\\.cc:\\d+"), "child.cc:L");
    for (std::size_t at; (at = text.find(dir)) != std::string::npos;)
      text.replace(at, dir.size(), "DIR");
    return text;
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

TEST_F(Checkpoints, TreesThatDifferAreRefusedByAll) {
  NEEDS_A_LAUNCHER();
  const std::string text = said(2, "differ");
  const std::string says =
      "checkpoint::save: process 0 and process 1 cannot save step 2 together: their trees differ\n"
      "  - process 0: one int32() in each process\n"
      "  - process 1: more float32(2,) in each process\n"
      "  rule: all processes come to it with one tree, of one step\n"
      "  from: child.cc:L\n"
      "  try: look at what makes the trees differ: a condition on process_index()?\n";
  for (const char* p : {"process 0: ", "process 1: "})
    EXPECT_NE(text.find(p + says), std::string::npos) << text;
  EXPECT_EQ(names_in(dir), Names{});
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
                      "  rule: all processes do it, or none\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(names_in(dir), Names{});
}

TEST_F(Checkpoints, DamageIsAnErrorInAll) {
  NEEDS_A_LAUNCHER();
  ASSERT_EQ(run(2, "save").out, "saved\n");
  // The last byte of what the second process wrote: some other process needs it.
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

// Of one, two and four processes, in turn as it is drawn; each run restores what another number
// saved.
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
