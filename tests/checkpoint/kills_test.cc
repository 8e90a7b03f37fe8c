// One process that is killed with SIGKILL while it trains and saves.
#include "checkpoint/kills.h"
#include "checkpoint/folder.h"

namespace {

class Kills : public checkpoint_test::InFolder {};

}  // namespace

TEST_F(Kills, LeaveEveryStepThatWasMade) {
  const char* child = std::getenv("CHECKPOINT_CHILD");  // the same program with the shared library
  const std::string program = child ? child : CHECKPOINT_CHILD;
  checkpoint_test::kill_again_and_again(checkpoint_test::kills(), [&](int, std::int64_t steps) {
    return std::pair(std::vector<std::string>{program, "train", dir, std::to_string(steps)}, 1);
  });
}
