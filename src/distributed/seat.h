// Where a process stands, in memory that those of its machine share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::inline v0::processes {

/// Zero is a seat that nobody took.
struct alignas(64) Seat {
  /// Counters of rounds, which others sleep on: come to, laid out, read.
  std::atomic<std::uint32_t> arrived, posted, done;
  std::atomic<std::uint32_t> sleepers;
  /// It waits for nobody any more: what it found is in `text`.
  std::atomic<std::uint32_t> broken;
  /// It has come to its end, and to no more rounds.
  std::atomic<std::uint32_t> ending;
  char host[64];
  std::atomic<std::int32_t> pid;  // written behind what is before it

  /// Of the last two rounds: what they are of.
  struct Round {
    std::atomic<std::uint64_t> signature;
    char text[240];
  };
  Round rounds[2];

  /// What it does, and since when (CLOCK_MONOTONIC, ns, one for all processes of a machine). Odd
  /// while it is written.
  std::atomic<std::uint32_t> version;
  std::atomic<std::int64_t> since;
  char text[400];
};
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
