// A process that trains and saves may be killed by SIGKILL, end, or fork.
#include <tessera/checkpoint.h>

#include "checkpoints/folder.h"
#include "checkpoints/kills.h"

#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;

namespace {

class Kills : public checkpoint_test::InFolder {};
using checkpoint_test::child;

}  // namespace

TEST_F(Kills, LeaveEveryStepThatWasMade) {
  checkpoint_test::kill_again_and_again(checkpoint_test::kills(), [&](int, std::int64_t steps) {
    return std::pair(std::vector<std::string>{child(), "train", dir, std::to_string(steps)}, 1);
  });
}

TEST_F(Kills, ButTheEndOfAProcessWaits) {
  checkpoint_test::Running run({child(), "leave", dir});
  EXPECT_EQ(run.end(), 0) << run.text();
  EXPECT_EQ(run.text(), "under way\n");
  EXPECT_EQ(ts::checkpoint::verify(dir, 1), std::vector<std::string>{});
  EXPECT_EQ(names_in(dir), std::vector<std::string>{"1"});
}

TEST_F(Kills, AndAChildOfForkSavesByItself) {
  checkpoint_test::Running run({child(), "fork", dir});
  EXPECT_EQ(run.end(), 0) << run.text();
  EXPECT_EQ(run.text().substr(0, 78),
            "checkpoint::save: its thread belongs to the process that forked this one\n  rul")
      << run.text();
  EXPECT_EQ(run.lines.back(), "child 0") << run.text();
}
