// Runs that save beside later steps, which an abandoned run or somebody else left: the step that
// was just saved is kept, and nothing is removed silently.
#include <tessera/checkpoint.h>
#include <tessera/checkpoint_manager.h>
#include <tessera/creation.h>

#include "checkpoints/folder.h"
#include "message.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fs = std::filesystem;
namespace ts = tessera;
using checkpoint_test::read;
using checkpoint_test::same;
using checkpoint_test::write;
using test::message;
using ts::Array;

namespace {

using Names = std::vector<std::string>;
using Steps = std::vector<std::int64_t>;

class LaterSteps : public checkpoint_test::InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    ts::CheckpointManager m(dir, {.max_to_keep = 3});
    for (const int i : {100, 110, 120}) m.save(i, value(i));
    m.wait();
  }
  static Array value(int i) { return ts::full({3}, i); }
  static Array like() { return ts::zeros({3}, ts::i32); }
  Array restored(std::int64_t step) const {
    return ts::checkpoint::restore(dir, like(), {.step = step});
  }
};

}  // namespace

TEST_F(LaterSteps, AreAnErrorOfTheSave) {
  for (const auto keep : std::vector<std::optional<int>>{1, 3, std::nullopt}) {
    ts::CheckpointManager m(dir, {.max_to_keep = keep});
    EXPECT_TRUE(same(m.restore(like(), {.step = 100}), value(100)));
    EXPECT_EQ(
        plain(message<ts::IoError>([&] { m.save(101, value(101)); })),
        "CheckpointManager::save: DIR has later steps than 101: 110, 120\n"
        "  rule: a run saves its steps in ascending order: the greatest is the one from which it "
        "resumes, and the smallest are removed first\n"
        "  try: {.discard_later_steps = true} of the CheckpointManager removes them once this step "
        "is saved; to keep them, save into another folder, or go on from the last of them");
    EXPECT_EQ(names_in(dir), (Names{"100", "110", "120"}));
  }
  // Functions without a policy save any step.
  ts::checkpoint::save(dir, 101, value(101));
  EXPECT_EQ(ts::checkpoint::all_steps(dir), (Steps{100, 101, 110, 120}));
}

TEST_F(LaterSteps, AreDiscardedOnceAnEarlierOneIsThere) {
  ts::CheckpointManager m(dir, {.max_to_keep = 3, .discard_later_steps = true});
  EXPECT_TRUE(same(m.restore(like(), {.step = 100}), value(100)));
  EXPECT_EQ(m.all_steps(), (Steps{100, 110, 120}));
  for (int i = 101; i <= 105; ++i) EXPECT_TRUE(m.save(i, value(i)));
  m.wait();
  EXPECT_EQ(m.all_steps(), (Steps{103, 104, 105}));
  // The abandoned run has a step with this number.
  ts::checkpoint::save(dir, 110, value(7));
  ts::checkpoint::save(dir, 120, value(7));
  EXPECT_TRUE(m.save(110, value(110)));
  m.wait();
  EXPECT_EQ(m.all_steps(), (Steps{104, 105, 110}));
  EXPECT_TRUE(same(restored(110), value(110)));
  // A step that this run saved is not overwritten by mistake.
  EXPECT_EQ(plain(message<ts::IoError>([&] { m.save(110, value(8)); })),
            "CheckpointManager::save: DIR has a step 110 already\n"
            "  rule: a step that was made is not written over\n"
            "  try: {.overwrite = true} puts this one in its place");
  // It may be overwritten after the run has gone back to an earlier step.
  (void)m.restore(like(), {.step = 104});
  EXPECT_TRUE(m.save(105, value(8)));
  m.wait();
  EXPECT_EQ(m.all_steps(), (Steps{104, 105}));
  EXPECT_TRUE(same(restored(105), value(8)));
}

// Saves in progress count too.
TEST_F(LaterSteps, GoBackOverSavesUnderWay) {
  ts::CheckpointManager m(dir, {.max_in_flight = 8, .discard_later_steps = true});
  for (const int i : {130, 140, 150, 105, 106, 107}) EXPECT_TRUE(m.save(i, value(i)));
  m.wait();
  EXPECT_EQ(m.all_steps(), (Steps{100, 105, 106, 107}));
  ts::CheckpointManager strict(dir, {.max_in_flight = 8});
  EXPECT_TRUE(strict.save(130, value(130)));
  EXPECT_NE(message<ts::IoError>([&] {
              strict.save(120, value(120));
            }).find("has later steps than 120: 130\n"),
            std::string::npos);
}

// Damaged steps are not later than any step: the step that was just saved stays.
TEST_F(LaterSteps, ThatAreDamagedOrForeignDoNotCount) {
  for (const int i : {100, 110}) fs::remove_all(dir + "/" + std::to_string(i));
  std::string manifest = read(dir + "/120/manifest.json");
  manifest[manifest.size() / 2] ^= 1;
  write(dir + "/120/manifest.json", manifest);
  fs::create_directory(dir + "/20241126");
  ts::CheckpointManager m(dir, {.max_to_keep = 1});
  for (int i = 1; i <= 5; ++i) {
    EXPECT_TRUE(m.save(i, value(i)));
    m.wait();
    Names names{"120", "20241126", std::to_string(i)};
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names_in(dir), names);
    EXPECT_TRUE(same(restored(i), value(i)));
  }
  EXPECT_EQ(m.best_step(), std::nullopt);
}

// A step that was replaced on purpose stays.
TEST_F(LaterSteps, AnEarlierOneIsReplacedOnPurpose) {
  ts::CheckpointManager m(dir, {.max_to_keep = 1, .async = false});
  EXPECT_TRUE(m.save(100, value(1), {.overwrite = true}));
  EXPECT_EQ(m.all_steps(), (Steps{100, 120}));
  EXPECT_TRUE(same(restored(100), value(1)));
  EXPECT_TRUE(m.save(130, value(130)));
  EXPECT_EQ(m.all_steps(), Steps{130});
}

// A manager keeps its folder when the program changes its working directory.
TEST_F(LaterSteps, AreOfTheFolderThatTheManagerWasMadeIn) {
  const fs::path before = fs::current_path();
  fs::create_directories(dir + "/a");
  fs::create_directories(dir + "/b");
  fs::current_path(dir + "/a");
  ts::CheckpointManager m("run", {.max_to_keep = 1});
  EXPECT_TRUE(m.save(1, value(1)));
  fs::current_path(dir + "/b");
  EXPECT_TRUE(m.save(2, value(2)));
  m.wait();
  EXPECT_EQ(m.directory(), "run");
  EXPECT_EQ(m.all_steps(), Steps{2});
  EXPECT_TRUE(same(m.restore(like()), value(2)));
  fs::current_path(before);
  EXPECT_EQ(names_in(dir + "/a/run"), Names{"2"});
  EXPECT_EQ(names_in(dir + "/b"), Names{});
}
