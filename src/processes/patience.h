// Waits for other processes, and reports those that do not come.
#pragma once

#include "processes/group.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::processes {

/// Additional information about a failure.
struct Details {
  int rank = -1;  // the process it is about
  std::vector<std::string> lines;
};
/// Throws a CollectiveError that reports the state of every process. Before that, this process
/// publishes that it stopped waiting for others, and why, to those that wait for it.
[[noreturn]] void fail(Group& group, const Subject& subject, std::string problem, std::string rule,
                       std::string advice, const Details& details = {});
/// Throws CollectiveError if this process gave up before.
void need_others(Group& group, const Subject& subject);
/// For example "psum of 'step', train.cc:88".
std::string subject_text(const Subject& s);
std::string seconds_text(double s);

/// A wait for another process. It spins for a while if cores are idle anyway, then sleeps, and
/// checks periodically that the other process is alive. Throws after the time-out.
class Patience {
 public:
  /// Pseudo-ranks: all processes, or all processes of this machine while they are alive.
  static constexpr int kAll = -1, kAllThatLive = -2;
  /// `group` and `subject` must outlive this object.
  Patience(Group& group, const Subject& subject, int rank)
      : group_(group),
        subject_(subject),
        rank_(rank),
        begin_(monotonic_ns()),
        expected_(group.timeout() / 12) {}

  /// Waits until `counter` of the seat reaches `number`.
  void until(Seat& seat, std::atomic<std::uint32_t>& counter, std::uint32_t number);
  /// Waits until a request of the plug-in is complete.
  void until(TesseraRequest*& request);

 private:
  void look_at_the_clock();
  void report(double waited);

  Group& group_;
  const Subject& subject_;
  const int rank_;
  const std::int64_t begin_;
  double expected_;  // of the watchdog, in seconds
};

}  // namespace tessera::inline v0::processes
