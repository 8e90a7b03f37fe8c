#include "processes/patience.h"

#include "base/settings.h"
#include "processes/disagreement.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

namespace tessera::inline v0::processes {
namespace {

// Seconds between checks that the other process is alive.
constexpr double kSlice = 0.05;

// Tells the processor that the program waits in a loop.
void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::string stand_of(Group& group, int rank) {
  std::string text = "process " + std::to_string(rank);
  const Seat* seat = group.seat(rank);
  if (!seat) return text + ": on another machine";
  const std::int32_t pid = seat->pid.load(std::memory_order_acquire);
  if (pid == 0) return text + ": has not come to initialize";
  text += " (" + std::string(seat->host) + ", pid " + std::to_string(pid) + "): ";
  if (!lives(*seat)) text += "ended; ";
  const double since = static_cast<double>(monotonic_ns() - seat->since.load()) * 1e-9;
  text += text_of(*seat);
  // The text has several lines if the process gave up.
  return text.insert(std::min(text.find('\n'), text.size()), ", " + seconds_text(since) + " ago");
}

// Messages list only some of many offenders, so the processes concerned come first.
void add_stands(Group& group, Message& m, int rank) {
  constexpr int kMany = 12;
  const auto matters = [&](int r) {
    return group.count() > kMany && (r == group.rank() || r == rank);
  };
  for (int r = 0; r < group.count(); ++r)
    if (matters(r)) m.offender(stand_of(group, r));
  for (int r = 0; r < group.count(); ++r)
    if (!matters(r)) m.offender(stand_of(group, r));
}

[[noreturn]] void fail_for(Group& group, const Subject& subject, int rank, const char* what) {
  fail(group, subject, "process " + std::to_string(rank) + " " + what,
       "all processes come to the same collectives in the same order, and none is waited for "
       "longer than " +
           seconds_text(group.timeout()),
       "look at what process " + std::to_string(rank) + " did last", {rank, {}});
}

}  // namespace

std::string seconds_text(double s) {
  char text[32];
  std::snprintf(text, sizeof text, s < 10 ? "%.1f s" : "%.0f s", s);
  return text;
}
std::string subject_text(const Subject& s) {
  std::string text(s.collective);
  if (!s.program.empty()) text += " of '" + std::string(s.program) + "'";
  if (const std::string at = to_string(s.loc); !at.empty()) text += ", " + at;
  return text;
}

void fail(Group& group, const Subject& subject, std::string problem, std::string rule,
          std::string advice, const Details& details) {
  Message m(subject.collective);
  m.problem(std::move(problem)).rule(std::move(rule)).from(subject.loc).advice(std::move(advice));
  for (const std::string& line : details.lines) m.offender(line);
  // The other processes get all parts of the error except the states of processes, which each of
  // them can read itself. The text begins with the subject, which names the function and the place.
  ErrorParts parts = m.parts();
  parts.function.clear();
  if (!to_string(subject.loc).empty()) parts.file.clear();
  add_stands(group, m, details.rank);
  group.give_up("gave up at " + subject_text(subject) + ": " + parts.text());
  m.raise<CollectiveError>();
}

void need_others(Group& group, const Subject& subject) {
  if (group.gave_up())
    Message(subject.collective)
        .problem("a collective before this one failed")
        .rule("processes that have lost each other do not find each other again")
        .from(subject.loc)
        .advice("start them again from the newest checkpoint")
        .raise<CollectiveError>();
}

void Patience::until(Seat& seat, std::atomic<std::uint32_t>& counter, std::uint32_t number) {
  const int spins = group_.spins() ? 2000 : 0;
  for (int i = 0; i < spins; ++i) {
    if (reached(counter.load(std::memory_order_acquire), number)) return;
    pause_processor();
  }
  for (;;) {
    const std::uint32_t now = counter.load(std::memory_order_acquire);
    if (reached(now, number)) return;
    if (is_asked_by(group_, rank_)) answer(group_, subject_, rank_);
    if (const int r = asking_by_message(group_); r >= 0) answer_by_message(group_, subject_, r);
    if (seat.broken.load(std::memory_order_acquire)) fail_for(group_, subject_, rank_, "gave up");
    if (seat.ending.load(std::memory_order_acquire) &&
        !reached(counter.load(std::memory_order_acquire), number))
      fail_for(group_, subject_, rank_, "has ended");
    sleep_on(seat, counter, now, kSlice);
    if (reached(counter.load(std::memory_order_acquire), number)) return;
    if (!lives(seat)) fail_for(group_, subject_, rank_, "has ended");
    look_at_the_clock();
  }
}
void Patience::until(TesseraRequest*& request) {
  bool gone = false;
  for (int turn = 0; request; ++turn) {
    bool over = false;
    std::string reason;
    if (!group_.transport().test(request, over, &reason))
      fail(group_, subject_, reason, "processes are joined by " + group_.transport().name(),
           "look at what the launcher says");
    if (over) return;
    if (turn < 64) {
      std::this_thread::yield();
      continue;
    }
    ::usleep(turn < 256 ? 50 : 500);
    const bool long_ago = turn % 64 == 0;
    int left = -1;
    for (const int r : group_.node()) {
      if (r == group_.rank() || (rank_ >= 0 && r != rank_)) continue;
      const Seat& seat = *group_.seat(r);
      if (is_asked_by(group_, r)) show_asked(group_, r);
      if (!long_ago) continue;
      // A process that is shutting down may have ended before this one learns that all have
      // arrived.
      if (!seat.ending.load() && !lives(seat)) fail_for(group_, subject_, r, "has ended");
      if (rank_ != kAllThatLive && seat.broken.load(std::memory_order_acquire)) left = r;
    }
    if (!long_ago) continue;
    if (const int r = asking_by_message(group_); r >= 0) {
      if (rank_ != kAllThatLive) answer_by_message(group_, subject_, r);
      tell_asked(group_, subject_, r);
    }
    // The event that made the other process give up may have reached this one, too, so look for it
    // once more first.
    if (left >= 0 && std::exchange(gone, true)) fail_for(group_, subject_, left, "gave up");
    if (rank_ != kAllThatLive) look_at_the_clock();
  }
}

void Patience::look_at_the_clock() {
  const double waited = static_cast<double>(monotonic_ns() - begin_) * 1e-9;
  if (waited < group_.timeout()) return report(waited);
  if (rank_ >= 0)
    fail_for(group_, subject_, rank_, ("did not come within " + seconds_text(waited)).c_str());
  fail(
      group_, subject_, "not all processes came within " + seconds_text(waited),
      "all of them come here, and none is waited for longer than " + seconds_text(group_.timeout()),
      "look at what each did last");
}

// The watchdog: reports the state of all processes, with the interval doubled each time.
void Patience::report(double waited) {
  if (waited < expected_) return;
  expected_ = 2 * waited;
  static const bool wanted = settings::text("TESSERA_LOG").find("progress") != std::string::npos;
  if (!wanted) return;
  Message m(subject_.collective);
  m.problem("process " + std::to_string(group_.rank()) + " waits for " +
            (rank_ < 0 ? "the others" : "process " + std::to_string(rank_)) + ", for " +
            seconds_text(waited) + " now");
  add_stands(group_, m, rank_);
  m.rule("a wait ends in an error after " + seconds_text(group_.timeout())).from(subject_.loc);
  const std::string text = m.str() + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());  // one write, so that lines do not mix
}

}  // namespace tessera::inline v0::processes
