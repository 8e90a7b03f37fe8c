// The state of a process that has joined others.
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

// What this process knows of another one. Rounds are counted per pair, so that rounds among some
// processes do not involve the others.
struct Peer {
  std::uint32_t posted = 0;           // rounds published for it
  std::uint32_t begun = 0, read = 0;  // rounds that it publishes for us
  std::uint32_t in_half[2] = {};      // by half: the last round posted in it
  bool direct = false;                // both read each other's memory; else they send messages
  SegmentView memory;
};

struct All {
  TesseraTransport transport{};
  std::mutex plugin;  // one thread at a time may call the plug-in
  int rank = 0, count = 1;
  double timeout = 60;
  int cores_of_first = 1;
  std::vector<int> node;     // ranks on this machine, ascending
  std::vector<int> place;    // by rank: index in `node`, or -1
  std::vector<int> machine;  // by rank: the first process on its machine
  std::vector<Seat*> seats;  // by place
  TesseraWindow* seating = nullptr;
  std::vector<Peer> peers;      // by rank
  Segment memory;               // read by others; rounds alternate between its halves
  std::vector<Segment> before;  // outgrown segments that may still be read
  Segment shown;                // a program, shown to a process that runs another (disagreement.h)
  std::uint32_t rounds = 0, outgrown = 0;
  std::vector<int> readers[2];   // by half: the processes that read it
  bool messages = false;         // some peers send messages
  bool spins = false;            // there is a core for each process of the machine
  bool several_threads = false;  // several threads make calls that all processes make
  bool joined = false;

  Seat& mine() { return *seats[static_cast<std::size_t>(place[static_cast<std::size_t>(rank)])]; }
  Seat* seat(int r) {
    const int p = place[static_cast<std::size_t>(r)];
    return p < 0 ? nullptr : seats[static_cast<std::size_t>(p)];
  }
  Peer& peer(int r) { return peers[static_cast<std::size_t>(r)]; }
  // What the process of a seat publishes about its rounds with another process of the machine.
  Pair& pair(Seat& of, int with) {
    return pairs_of(of)[static_cast<std::size_t>(place[static_cast<std::size_t>(with)])];
  }
};
All& all();

// Message tags. Every transport guarantees 15 bits: rounds use 0..kTags-1 in turn, the values above
// are reserved for control messages.
constexpr std::uint32_t kTags = 1 << 14, kGatherTag = kTags, kOrderTag = kTags + 1,
                        kProgramTag = kTags + 2;
inline int tag_of(std::uint32_t number) { return static_cast<int>(number % kTags); }

// Whether `counter` has reached `number`; round numbers wrap around.
inline bool reached(std::uint32_t counter, std::uint32_t number) {
  return static_cast<std::int32_t>(counter - number) >= 0;
}

/// all_gather() without InOrder, for use while processes with several threads join, before they
/// make any other call.
std::vector<std::byte> all_gather_unordered(std::string_view function,
                                            std::span<const std::byte> mine, const SourceLoc& loc);

/// Checks the return code of a plug-in call; throws CollectiveError in the name of `function`.
void check(int code, std::string_view function, const SourceLoc& loc);

}  // namespace tessera::inline v0::processes
