// Waiting for other processes.
#pragma once

#include "processes/joined.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::processes {

/// What else there is to say of a failure.
struct Details {
  int rank = -1;  // whom it is about
  std::vector<std::string> lines;
};
/// This process waits for nobody any more, and says so, and why, to those who wait for it. A
/// CollectiveError that says where every process stands.
[[noreturn]] void fail(const Subject& subject, std::string problem, std::string rule,
                       std::string advice, const Details& details = {});
/// A CollectiveError where this process gave up before.
void need_others(const Subject& subject);
/// "psum of 'step', train.cc:88"
std::string subject_text(const Subject& s);
std::string seconds_text(double s);
/// Those who sleep on what this process counts look again.
void wake_all(All& a);

/// How one waits: looks a while where cores are idle anyhow, then sleeps, and now and then looks
/// whether the other one is there. After the time-out it is an error.
class Patience {
 public:
  /// Instead of a rank: all processes, and those on this machine while they live.
  static constexpr int kAll = -1, kAllThatLive = -2;
  /// The subject outlives it.
  Patience(const Subject& subject, int rank)
      : subject_(subject), rank_(rank), begin_(monotonic_ns()), expected_(all().timeout / 12) {}

  /// Until `counter` of the seat has come to `number`.
  void until(Seat& seat, std::atomic<std::uint32_t>& counter, std::uint32_t number);
  /// Until a request of the plug-in is over.
  void until(TesseraRequest*& request);

 private:
  void look_at_the_clock();
  void report(double waited);

  const Subject& subject_;
  const int rank_;
  const std::int64_t begin_;
  double expected_;  // of the watch-dog
};

}  // namespace tessera::inline v0::processes
