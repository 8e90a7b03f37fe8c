// A process in two groups: their rounds, their orders of calls and their failures do not meet.
#include "processes/group.h"

#include "processes/call_order.h"
#include "processes/members.h"
#include "processes/order.h"
#include "processes/processes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace tessera::processes;
using processes_test::Members;

// Sends a number to the other member in a round of a call, and returns that of the other one.
int exchanged(Group& group, std::uint64_t signature, int number) {
  const InOrder in_order(group, signature, "step", {});
  const int other = 1 - group.rank();
  const Subject subject{signature, "step", "psum", {}};
  Traffic traffic;
  traffic.bytes = {sizeof number, sizeof number};
  traffic.from = traffic.to = {other};
  Round round(group, subject, traffic);
  std::memcpy(round.own(), &number, sizeof number);
  round.post();
  int theirs = 0;
  std::memcpy(&theirs, round.of(other), sizeof theirs);
  round.finish();
  return theirs;
}

}  // namespace

TEST(Groups, OneAloneTalksToItself) {
  Group alone, another;
  EXPECT_FALSE(alone.joined());
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.count(), 1);
  alone.barrier("barrier", {});
  const std::vector<std::byte> bytes = {std::byte{3}, std::byte{5}};
  EXPECT_EQ(alone.all_gather("all_gather", bytes, {}), bytes);
  EXPECT_EQ(alone.gather("gather", bytes, {}), std::vector<std::vector<std::byte>>{bytes});
  EXPECT_NE(alone.order(), another.order());
}

TEST(Groups, DoNotMeet) {
  Members near(true), far(false);
  near.join();
  far.join();
  for (int r = 0; r < 2; ++r) {
    const Group &a = near.groups[static_cast<std::size_t>(r)],
                &b = far.groups[static_cast<std::size_t>(r)];
    for (const Group* group : {&a, &b}) {
      EXPECT_TRUE(group->joined());
      EXPECT_EQ(group->rank(), r);
      EXPECT_EQ(group->count(), 2);
    }
    EXPECT_EQ(a.node().size(), 2u);
    EXPECT_EQ(b.node().size(), 1u);
    EXPECT_EQ(a.machine_of(1), 0);
    EXPECT_EQ(b.machine_of(1), 1);
    EXPECT_FALSE(a.sends_messages());
    EXPECT_TRUE(b.sends_messages());
  }
  EXPECT_FALSE(own_group().joined());
  EXPECT_EQ(count(), 1);

  near.together([&](Group& group, int rank) {
    for (int k = 0; k < 3; ++k) EXPECT_EQ(exchanged(group, 7, 10 * k + rank), 10 * k + 1 - rank);
  });
  far.together(
      [&](Group& group, int rank) { EXPECT_EQ(exchanged(group, 7, 100 + rank), 101 - rank); });
  for (std::size_t r = 0; r < 2; ++r) {
    const int other = 1 - static_cast<int>(r);
    EXPECT_EQ(near.groups[r].peer(other).next(), 4u);
    EXPECT_EQ(far.groups[r].peer(other).next(), 2u);
    EXPECT_EQ(near.groups[r].order()->next, 4u);
    EXPECT_EQ(far.groups[r].order()->next, 2u);
  }

  near.together([&](Group& group, int rank) {
    if (rank == 0) return group.give_up("gave up on purpose");
    try {
      group.barrier("barrier", {});
      ADD_FAILURE() << "the other one does not come";
    } catch (const tessera::CollectiveError& e) {
      EXPECT_NE(std::string(e.what()).find("process 0 gave up"), std::string::npos) << e.what();
    }
  });
  far.together([&](Group& group, int rank) {
    EXPECT_FALSE(group.gave_up());
    const auto mine = static_cast<std::byte>(rank);
    EXPECT_EQ(group.all_gather("all_gather", {&mine, 1}, {}),
              (std::vector<std::byte>{std::byte{0}, std::byte{1}}));
  });
  for (Group& group : near.groups) EXPECT_TRUE(group.gave_up());

  for (Members* members : {&near, &far})
    members->together([](Group& group, int) { group.leave(); });
  EXPECT_EQ(near.network.closed(), 0);
  EXPECT_EQ(near.network.aborted(), 2);
  EXPECT_EQ(far.network.closed(), 2);
  EXPECT_EQ(far.network.aborted(), 0);
}
