// Where a process stands, in memory that those of its machine share.
#pragma once

#include "processes/segment.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::inline v0::processes {

/// What a round is of.
struct Title {
  std::atomic<std::uint64_t> signature;
  std::uint64_t program;         // by the number that the process gives it; 0: none
  std::uint64_t values, origin;  // of what the call was given (processes.h); 0: not compared
  char text[240];
};

/// Zero is a seat that nobody took.
struct alignas(64) Seat {
  std::atomic<std::uint32_t> sleepers;
  /// It waits for nobody any more: what it found is in `text`.
  std::atomic<std::uint32_t> broken;
  /// It has come to its end, and to no more rounds.
  std::atomic<std::uint32_t> ending;
  /// Calls whose order process 0 has said, or the others know (order.h).
  std::atomic<std::uint32_t> ordered;
  char host[64];
  std::atomic<std::int32_t> pid;  // written behind what is before it

  /// Where it lays out what others read, at first.
  SegmentPlace memory;
  Title rounds[2];  // by the half of the memory that they are in

  /// It found that process `asks` - 1 came to another program, which has the number `asked` there, and
  /// shows its own (disagreement.h). Or it is that one, and shows what it was asked for.
  std::atomic<std::uint32_t> shown;  // written behind what follows
  SegmentPlace program;
  std::int32_t asks;
  std::uint64_t asked;

  /// What it does, and since when (CLOCK_MONOTONIC, ns, one for all processes of a machine). Odd
  /// while it is written.
  std::atomic<std::uint32_t> version;
  std::atomic<std::int64_t> since;
  char text[1000];
};

/// What a process has to do with another one of its machine: behind its seat, by place.
struct alignas(64) Pair {
  /// Counters that the other one sleeps on: rounds that are laid out for it, and rounds of its that
  /// have been read.
  std::atomic<std::uint32_t> posted, done;
  /// Where the last two of the first are.
  struct Place {
    SegmentPlace segment;
    std::uint32_t half;
  };
  Place places[2];
};
inline Pair* pairs_of(Seat& seat) { return reinterpret_cast<Pair*>(&seat + 1); }

/// A call that all processes make: which thread of process 0 makes it. The last ones are behind the
/// pairs.
struct OrderEntry {
  std::int32_t lane;
  std::uint64_t signature;
  char text[112];
};
constexpr std::uint32_t kOrderEntries = 64;
inline OrderEntry* entries_of(Seat& seat, std::size_t seats) {
  return reinterpret_cast<OrderEntry*>(pairs_of(seat) + seats);
}
/// Bytes of a seat with what is behind it, among so many.
constexpr std::size_t seat_bytes(std::size_t seats) {
  return sizeof(Seat) + seats * sizeof(Pair) + kOrderEntries * sizeof(OrderEntry);
}

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

std::int64_t monotonic_ns();

/// Says what this process does.
void set_text(Seat& mine, std::string_view text);
std::string text_of(const Seat& seat);

/// Wakes whoever sleeps on a counter of this seat.
void wake(Seat& seat, std::atomic<std::uint32_t>& counter);
/// Sleeps while the counter is `seen`, for so long at most. It may return earlier.
void sleep_on(Seat& seat, std::atomic<std::uint32_t>& counter, std::uint32_t seen,
              double at_most_seconds);
/// Whether the process of a seat on this machine is there still, or has not come to its seat yet.
bool lives(const Seat& seat);

}  // namespace tessera::inline v0::processes
