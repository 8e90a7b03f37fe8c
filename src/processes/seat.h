// The state that a process publishes in memory shared with the processes of its machine.
#pragma once

#include "processes/segment.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::inline v0::processes {

/// Describes the call that a round belongs to.
struct Title {
  std::atomic<std::uint64_t> signature;
  std::uint64_t program;         // the process's own number for it; 0: none
  std::uint64_t values, origin;  // of the call's inputs (processes.h); 0: not compared
  char text[240];
};

/// A process's seat. All zeros mean that no process has taken it yet.
struct alignas(64) Seat {
  std::atomic<std::uint32_t> sleepers;
  /// Set when the process stops waiting for others because of an error, which is in `text`.
  std::atomic<std::uint32_t> broken;
  /// Set when the process is shutting down and will start no more rounds.
  std::atomic<std::uint32_t> ending;
  /// The number of calls whose order process 0 has published, or another process has read
  /// (order.h).
  std::atomic<std::uint32_t> ordered;
  char host[64];
  std::atomic<std::int32_t> pid;  // written after everything above

  /// The first segment that holds data for others.
  SegmentPlace memory;
  Title rounds[2];  // by the half of the memory that holds the round

  /// Set when this process publishes its program text in `program`: either because process `asks -
  /// 1` is running a different program (numbered `asked` there), or because another process asked
  /// for it.
  std::atomic<std::uint32_t> shown;  // written after the fields below
  SegmentPlace program;
  std::int32_t asks;
  std::uint64_t asked;

  /// The current activity of the process, and its start time (CLOCK_MONOTONIC in ns, the same for
  /// all processes of a machine). `version` is odd during writes.
  std::atomic<std::uint32_t> version;
  std::atomic<std::int64_t> since;
  char text[1000];
};

/// The state of a process towards another one of its machine; stored after its seat, by place.
struct alignas(64) Pair {
  /// Counters that the other process sleeps on: rounds published for it, and rounds of the other
  /// that this process has read.
  std::atomic<std::uint32_t> posted, done;
  /// The locations of the last two published rounds.
  struct Place {
    SegmentPlace segment;
    std::uint32_t half;
  };
  Place places[2];
};
inline Pair* pairs_of(Seat& seat) { return reinterpret_cast<Pair*>(&seat + 1); }

/// One call that all processes make, with the thread (lane) of process 0 that makes it. A ring of
/// the latest entries is stored after the pairs.
struct OrderEntry {
  std::int32_t lane;
  std::uint64_t signature;
  char text[112];
};
constexpr std::uint32_t kOrderEntries = 64;
inline OrderEntry* entries_of(Seat& seat, std::size_t seats) {
  return reinterpret_cast<OrderEntry*>(pairs_of(seat) + seats);
}
/// The bytes of a seat and everything stored after it, for `seats` processes.
constexpr std::size_t seat_bytes(std::size_t seats) {
  return sizeof(Seat) + seats * sizeof(Pair) + kOrderEntries * sizeof(OrderEntry);
}

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

std::int64_t monotonic_ns();

/// Publishes what this process is doing. One thread at a time.
void set_text(Seat& mine, std::string_view text);
std::string text_of(const Seat& seat);

/// Wakes all threads that sleep on a counter of this seat.
void wake(Seat& seat, std::atomic<std::uint32_t>& counter);
/// Sleeps while the counter equals `seen`, for the given time at most. May return early.
void sleep_on(Seat& seat, std::atomic<std::uint32_t>& counter, std::uint32_t seen,
              double at_most_seconds);
/// Whether the process of a seat on this machine is alive, or has not taken its seat yet.
bool lives(const Seat& seat);

}  // namespace tessera::inline v0::processes
