#include "processes/patience.h"

#include "base/settings.h"
#include "processes/disagreement.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

namespace tessera::inline v0::processes {
namespace {

// Seconds between checks that the other process is alive.
constexpr double kSlice = 0.05;

std::string stand_of(All& a, int rank) {
  std::string text = "process " + std::to_string(rank);
  const Seat* seat = a.seat(rank);
  if (!seat) return text + ": on another machine";
  const std::int32_t pid = seat->pid.load(std::memory_order_acquire);
  if (pid == 0) return text + ": has not come to initialize";
  text += " (" + std::string(seat->host) + ", pid " + std::to_string(pid) + "): ";
  if (!lives(*seat)) text += "ended; ";
  const double since = static_cast<double>(monotonic_ns() - seat->since.load()) * 1e-9;
  return text + text_of(*seat) + ", " + seconds_text(since) + " ago";
}

// Messages list only some of many offenders, so the processes concerned come first.
void add_stands(All& a, Message& m, int rank) {
  constexpr int kMany = 12;
  const auto matters = [&](int r) { return a.count > kMany && (r == a.rank || r == rank); };
  for (int r = 0; r < a.count; ++r)
    if (matters(r)) m.offender(stand_of(a, r));
  for (int r = 0; r < a.count; ++r)
    if (!matters(r)) m.offender(stand_of(a, r));
}

[[noreturn]] void fail_for(const Subject& subject, int rank, const char* what) {
  All& a = all();
  fail(subject, "process " + std::to_string(rank) + " " + what,
       "all processes come to the same collectives in the same order, and none is waited for "
       "longer than " +
           seconds_text(a.timeout),
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

void wake_all(All& a) {
  Seat& mine = a.mine();
  for (std::size_t p = 0; p < a.seats.size(); ++p)
    for (auto* counter : {&pairs_of(mine)[p].posted, &pairs_of(mine)[p].done}) wake(mine, *counter);
  wake(mine, mine.ordered);
}

void fail(const Subject& subject, std::string problem, std::string rule, std::string advice,
          const Details& details) {
  All& a = all();
  std::string stand = "gave up at " + subject_text(subject) + ": " + problem;
  for (const std::string& line : details.lines) stand += "; " + line;
  Message m(subject.collective);
  m.problem(std::move(problem)).rule(std::move(rule)).from(subject.loc).advice(std::move(advice));
  for (const std::string& line : details.lines) m.offender(line);
  add_stands(a, m, details.rank);
  Seat& mine = a.mine();
  set_text(mine, stand);
  mine.broken.store(1, std::memory_order_release);
  wake_all(a);
  m.raise<CollectiveError>();
}

void need_others(const Subject& subject) {
  if (all().mine().broken.load())
    Message(subject.collective)
        .problem("a collective before this one failed")
        .rule("processes that have lost each other do not find each other again")
        .from(subject.loc)
        .advice("start them again from the newest checkpoint")
        .raise<CollectiveError>();
}

void Patience::until(Seat& seat, std::atomic<std::uint32_t>& counter, std::uint32_t number) {
  const int spins = all().spins ? 2000 : 0;
  for (int i = 0; i < spins; ++i) {
    if (reached(counter.load(std::memory_order_acquire), number)) return;
    __builtin_ia32_pause();
  }
  for (;;) {
    const std::uint32_t now = counter.load(std::memory_order_acquire);
    if (reached(now, number)) return;
    if (is_asked_by(rank_)) answer(subject_, rank_);
    if (const int r = asking_by_message(); r >= 0) answer_by_message(subject_, r);
    if (seat.broken.load(std::memory_order_acquire)) fail_for(subject_, rank_, "gave up");
    if (seat.ending.load(std::memory_order_acquire) &&
        !reached(counter.load(std::memory_order_acquire), number))
      fail_for(subject_, rank_, "has come to its end");
    sleep_on(seat, counter, now, kSlice);
    if (reached(counter.load(std::memory_order_acquire), number)) return;
    if (!lives(seat)) fail_for(subject_, rank_, "has ended");
    look_at_the_clock();
  }
}
void Patience::until(TesseraRequest*& request) {
  All& a = all();
  bool gone = false;
  for (int turn = 0; request; ++turn) {
    int over = 0, code = 0;
    {
      std::lock_guard lock(a.plugin);
      code = a.transport.test(&a.transport, &request, &over);
    }
    if (code)
      fail(subject_, a.transport.error, "processes are joined by " + std::string(a.transport.name),
           "look at what the launcher says");
    if (over) return;
    if (turn < 64) {
      std::this_thread::yield();
      continue;
    }
    ::usleep(turn < 256 ? 50 : 500);
    const bool long_ago = turn % 64 == 0;
    int left = -1;
    for (const int r : a.node) {
      if (r == a.rank || (rank_ >= 0 && r != rank_)) continue;
      const Seat& seat = *a.seat(r);
      if (is_asked_by(r)) show_asked(r);
      if (!long_ago) continue;
      // A process that is shutting down may be gone before this one learns that all have arrived.
      if (!seat.ending.load() && !lives(seat)) fail_for(subject_, r, "has ended");
      if (rank_ != kAllThatLive && seat.broken.load(std::memory_order_acquire)) left = r;
    }
    if (!long_ago) continue;
    if (const int r = asking_by_message(); r >= 0) {
      if (rank_ != kAllThatLive) answer_by_message(subject_, r);
      tell_asked(subject_, r);
    }
    // The event that made the other process give up may have reached this one, too, so look for it
    // once more first.
    if (left >= 0 && std::exchange(gone, true)) fail_for(subject_, left, "gave up");
    if (rank_ != kAllThatLive) look_at_the_clock();
  }
}

void Patience::look_at_the_clock() {
  const double waited = static_cast<double>(monotonic_ns() - begin_) * 1e-9;
  if (waited < all().timeout) return report(waited);
  if (rank_ >= 0)
    fail_for(subject_, rank_, ("did not come within " + seconds_text(waited)).c_str());
  fail(subject_, "not all processes came within " + seconds_text(waited),
       "all of them come here, and none is waited for longer than " + seconds_text(all().timeout),
       "look at what each did last");
}

// The watchdog: reports the state of all processes, with the interval doubled each time.
void Patience::report(double waited) {
  if (waited < expected_) return;
  expected_ = 2 * waited;
  static const bool wanted = settings::text("TESSERA_LOG").find("progress") != std::string::npos;
  if (!wanted) return;
  All& a = all();
  Message m(subject_.collective);
  m.problem("process " + std::to_string(a.rank) + " waits for " +
            (rank_ < 0 ? "the others" : "process " + std::to_string(rank_)) + ", for " +
            seconds_text(waited) + " now");
  add_stands(a, m, rank_);
  m.rule("a wait ends in an error after " + seconds_text(a.timeout)).from(subject_.loc);
  const std::string text = m.str() + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());  // one write, so that lines do not mix
}

}  // namespace tessera::inline v0::processes
