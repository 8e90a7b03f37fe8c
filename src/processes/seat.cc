#include "processes/seat.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace tessera::inline v0::processes {

std::int64_t monotonic_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void set_text(Seat& mine, std::string_view text) {
  mine.version.fetch_add(1, std::memory_order_acq_rel);
  const std::size_t n = std::min(text.size(), sizeof mine.text - 1);
  std::memcpy(mine.text, text.data(), n);
  mine.text[n] = 0;
  mine.since.store(monotonic_ns(), std::memory_order_relaxed);
  mine.version.fetch_add(1, std::memory_order_release);
}

std::string text_of(const Seat& seat) {
  // Retries while the owner writes. If it died during a write, the text may be torn.
  char text[sizeof seat.text];
  for (int turn = 0; turn < 1000; ++turn) {
    const std::uint32_t before = seat.version.load(std::memory_order_acquire);
    std::memcpy(text, seat.text, sizeof text);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && seat.version.load(std::memory_order_relaxed) == before) break;
  }
  text[sizeof text - 1] = 0;
  return text;
}

void wake(Seat& seat, std::atomic<std::uint32_t>& counter) {
  // The fence guarantees that either the sleeper sees the new counter, or this thread sees the
  // sleeper.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (seat.sleepers.load(std::memory_order_relaxed) == 0) return;
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&counter), FUTEX_WAKE, INT_MAX, nullptr,
            nullptr, 0);
}

void sleep_on(Seat& seat, std::atomic<std::uint32_t>& counter, std::uint32_t seen,
              double at_most_seconds) {
  seat.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const auto ns = static_cast<long>(at_most_seconds * 1e9);
  const timespec span{ns / 1'000'000'000, ns % 1'000'000'000};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&counter), FUTEX_WAIT, seen, &span, nullptr,
            0);
  seat.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

bool lives(const Seat& seat) {
  const std::int32_t pid = seat.pid.load(std::memory_order_acquire);
  if (pid == 0) return true;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return false;
  // A process that ended but has not been reaped still has its pid.
  char path[32], line[256] = {};
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  std::FILE* file = std::fopen(path, "r");
  if (!file) return errno != ENOENT;
  const std::size_t n = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  line[n] = 0;
  const char* name_end = std::strrchr(line, ')');
  return !name_end || (name_end[2] != 'Z' && name_end[2] != 'X');
}

}  // namespace tessera::inline v0::processes
