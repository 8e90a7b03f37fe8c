// Messages between members, put in rounds in which each member sends one at most and receives one
// at most.
#pragma once

#include <vector>

namespace tessera::inline v0::ops::collective {

struct Sent {
  int from = 0, to = 0;  // members
};

/// The round of each message. There are as many rounds as the most messages that one member sends,
/// or receives: the edges of a bipartite graph have so many colours (König).
std::vector<int> rounds_of(const std::vector<Sent>& messages, int members);

}  // namespace tessera::inline v0::ops::collective
