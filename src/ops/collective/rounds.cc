#include "ops/collective/rounds.h"

#include <algorithm>
#include <cstddef>

namespace tessera::inline v0::ops::collective {

namespace {

constexpr int kNone = -1;

// For each member and round, the message that the member sends (or receives) in that round.
class RoundTable {
 public:
  explicit RoundTable(int members) : of_(static_cast<std::size_t>(members)) {}

  int at(int member, int round) const {
    const std::vector<int>& own = of_[static_cast<std::size_t>(member)];
    return round < static_cast<int>(own.size()) ? own[static_cast<std::size_t>(round)] : kNone;
  }
  void set(int member, int round, int message) {
    std::vector<int>& own = of_[static_cast<std::size_t>(member)];
    own.resize(std::max(own.size(), static_cast<std::size_t>(round) + 1), kNone);
    own[static_cast<std::size_t>(round)] = message;
  }
  int first_free(int member) const {
    int round = 0;
    while (at(member, round) != kNone) ++round;
    return round;
  }

 private:
  std::vector<std::vector<int>> of_;
};

}  // namespace

std::vector<int> rounds_of(const std::vector<Sent>& messages, int members) {
  std::vector<int> round(messages.size());
  RoundTable sent(members), received(members);
  const auto message = [&](int m) -> const Sent& { return messages[static_cast<std::size_t>(m)]; };
  const auto put = [&](int m, int in) {
    round[static_cast<std::size_t>(m)] = in;
    sent.set(message(m).from, in, m);
    received.set(message(m).to, in, m);
  };
  for (int m = 0; m < static_cast<int>(messages.size()); ++m) {
    const int own = sent.first_free(message(m).from);
    const int other = received.first_free(message(m).to);
    // The receiver is busy in the sender's free round. Swap the two rounds `own` and `other` along
    // the chain of messages connected to the blocking one (a Kempe chain of the edge colouring).
    // The chain never reaches the sender, because it could only do so in round `own`, in which the
    // sender sends nothing.
    std::vector<int> chain;
    for (int k = received.at(message(m).to, own); k != kNone;) {
      chain.push_back(k);
      const bool moves_to_other = chain.size() % 2 == 1;
      k = moves_to_other ? sent.at(message(k).from, other) : received.at(message(k).to, own);
    }
    for (int k : chain) {
      const int in = round[static_cast<std::size_t>(k)];
      sent.set(message(k).from, in, kNone);
      received.set(message(k).to, in, kNone);
    }
    for (int k : chain) put(k, round[static_cast<std::size_t>(k)] == own ? other : own);
    put(m, own);
  }
  return round;
}

}  // namespace tessera::inline v0::ops::collective
