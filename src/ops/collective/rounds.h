// Schedules messages between members in rounds; in each round a member sends at most one message
// and receives at most one.
#pragma once

#include <vector>

namespace tessera::inline v0::ops::collective {

struct Sent {
  int from = 0, to = 0;  // members
};

/// Returns the round of each message. The number of rounds is the largest number of messages that
/// one member sends or receives, because the edges of a bipartite graph can be coloured with that
/// many colours (König).
std::vector<int> rounds_of(const std::vector<Sent>& messages, int members);

}  // namespace tessera::inline v0::ops::collective
