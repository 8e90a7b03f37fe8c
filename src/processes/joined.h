// What a process that was joined to others knows of them.
#pragma once

#include "processes/processes.h"
#include "processes/seat.h"
#include "processes/segment.h"
#include "processes/transport_abi.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::inline v0::processes {

// What this process knows of another one. Rounds are counted by pair, so that those of some
// processes need nothing of the others.
struct Peer {
  std::uint32_t posted = 0;           // rounds that were laid out for it
  std::uint32_t begun = 0, read = 0;  // rounds that it lays out for us
  std::uint32_t in_half[2] = {};      // of the first: the last that is in each half
  bool direct = false;                // each reads the other's memory; else they send messages
  SegmentView memory;
};

struct All {
  TesseraTransport transport{};
  std::mutex plugin;  // it is called by one thread at a time
  int rank = 0, count = 1;
  double timeout = 60;
  int cores_of_first = 1;
  std::vector<int> node;     // ranks on this machine, ascending
  std::vector<int> place;    // by rank: among those, or -1
  std::vector<int> machine;  // by rank: the first one on its machine
  std::vector<Seat*> seats;  // by place
  TesseraWindow* seating = nullptr;
  std::vector<Peer> peers;      // by rank
  Segment memory;               // what others read, in two halves that rounds take in turn
  std::vector<Segment> before;  // has been outgrown, and may still be read
  Segment shown;                // a program, to one that came to another (disagreement.h)
  std::uint32_t rounds = 0, outgrown = 0;
  std::vector<int> readers[2];   // who reads what the half holds
  bool messages = false;         // from some
  bool spins = false;            // there is a core for each process of the machine
  bool several_threads = false;  // make calls that all processes make
  bool joined = false;

  Seat& mine() { return *seats[static_cast<std::size_t>(place[static_cast<std::size_t>(rank)])]; }
  Seat* seat(int r) {
    const int p = place[static_cast<std::size_t>(r)];
    return p < 0 ? nullptr : seats[static_cast<std::size_t>(p)];
  }
  Peer& peer(int r) { return peers[static_cast<std::size_t>(r)]; }
  // What the process of a seat says of its rounds with another one of the machine.
  Pair& pair(Seat& of, int with) {
    return pairs_of(of)[static_cast<std::size_t>(place[static_cast<std::size_t>(with)])];
  }
};
All& all();

// Of messages, which have 15 bits in every transport: rounds of a pair take them in turn, and some
// are left.
constexpr std::uint32_t kTags = 1 << 14, kGatherTag = kTags, kOrderTag = kTags + 1,
                        kProgramTag = kTags + 2;
inline int tag_of(std::uint32_t number) { return static_cast<int>(number % kTags); }

// Numbers of rounds wrap.
inline bool reached(std::uint32_t counter, std::uint32_t number) {
  return static_cast<std::int32_t>(counter - number) >= 0;
}

/// all_gather() of several processes where one thread of each makes calls: while they join, and before
/// others have come to anything.
std::vector<std::byte> all_gather_unordered(std::string_view function,
                                            std::span<const std::byte> mine, const SourceLoc& loc);

/// Of a call of the plug-in; CollectiveError in the name of `function`.
void check(int code, std::string_view function, const SourceLoc& loc);

}  // namespace tessera::inline v0::processes
