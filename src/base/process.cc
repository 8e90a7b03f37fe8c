#include "base/process.h"

#include "base/thread_kept.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace tessera::inline v0 {
namespace {

enum class State { open, forking, ending };

// The state that a thread publishes. `after_the_end`: the thread entered after the process began to
// end. It uses nothing that is destroyed at exit, so exit need not wait for it; that wait might
// never end if the thread enters again and again.
enum class Where : std::uint8_t { outside, inside, after_the_end };

struct Record {
  std::atomic<Where> where{Where::outside};
  std::atomic<bool> taken{true};  // by a living thread
  /// The thread that is releasing the record because it ends or calls exit.
  std::atomic<pid_t> leaving{0};
};

struct Shared {
  std::atomic<State> state{State::open};
  std::atomic<bool> forked{false};
  std::atomic<void (*)()> wait{nullptr};
  std::atomic<int> beginning{0};  // library initialisations in progress
  std::atomic<int> about_to_leave{0};
  std::mutex records_lock;
  std::vector<Record*> records;   // of all threads that ever entered; later threads reuse them
  std::mutex forking;             // one fork at a time
  std::vector<std::mutex*> held;  // over fork, together with records_lock
};
Shared& shared() {
  static Shared* a = new Shared;
  return *a;
}

thread_local constinit Record* g_mine = nullptr;

// The wait is rare and as short as a call. Polling is good enough, and costs nothing for threads
// that leave.
void a_moment(int& turn) {
  if (++turn < 64) {
    ::sched_yield();
    return;
  }
  const timespec some{0, turn < 256 ? 50'000 : 500'000};
  ::nanosleep(&some, nullptr);
}

// Whether another thread with this id is alive. If the id is this thread's own, the system has
// reused it.
bool is_alive(pid_t thread) {
  return thread != 0 && thread != ::gettid() && ::syscall(SYS_tgkill, ::getpid(), thread, 0) == 0;
}

// Releases the thread's record when the thread ends or calls exit. The main thread keeps its
// record, because it still computes while static objects are destroyed.
struct GiveBack {
  ~GiveBack() {
    Shared& a = shared();
    const bool keeps = ::gettid() == ::getpid();
    // Either this thread sees the library initialisation in progress, or the initialising thread
    // sees this one leaving. New initialisations wait until this thread is through; otherwise it
    // might have to wait for one after another.
    a.about_to_leave.fetch_add(1, std::memory_order_relaxed);
    for (int turn = 0;; a_moment(turn)) {
      if (!keeps) g_mine->leaving.store(::gettid(), std::memory_order_seq_cst);
      if (a.beginning.load(std::memory_order_seq_cst) == 0 || a.forked.load()) break;
      g_mine->leaving.store(0, std::memory_order_seq_cst);
    }
    a.about_to_leave.fetch_sub(1, std::memory_order_relaxed);
    if (keeps) return;
    g_mine->taken.store(false, std::memory_order_release);
    g_mine = nullptr;
  }
};

Record& mine() {
  if (g_mine) return *g_mine;
  Shared& a = shared();
  {
    std::lock_guard lock(a.records_lock);
    for (Record* r : a.records) {
      bool taken = false;
      if (r->taken.load(std::memory_order_relaxed) || is_alive(r->leaving.load())) continue;
      if (r->taken.compare_exchange_strong(taken, true, std::memory_order_acquire)) {
        r->leaving.store(0, std::memory_order_relaxed);
        g_mine = r;
        break;
      }
    }
    if (!g_mine) a.records.push_back(g_mine = new Record);
  }
  static thread_local const GiveBack give_back;
  (void)give_back;
  return *g_mine;
}

// Waits until no other thread is inside. If the process is ending, threads that entered after the
// end began do not count.
void wait_for_others(State why) {
  Shared& a = shared();
  const auto gone = [why](Where w) {
    return w == Where::outside || (w == Where::after_the_end && why == State::ending);
  };
  // Threads that enter for the first time see the state, because they create their record before
  // they check it.
  std::size_t i = 0;
  for (int turn = 0;;) {
    Record* r = nullptr;
    {
      std::lock_guard lock(a.records_lock);
      if (i == a.records.size()) break;
      r = a.records[i];
    }
    if (r == g_mine || gone(r->where.load(std::memory_order_seq_cst))) {
      ++i;
      turn = 0;
    } else {
      a_moment(turn);
    }
  }
  if (auto* wait = a.wait.load(std::memory_order_acquire)) wait();
}

void begin_to_end() {
  Shared& a = shared();
  State now = State::open;
  // A fork in progress is nearly done; it completes, in parent and child, before the end begins.
  for (int turn = 0; !a.state.compare_exchange_weak(now, State::ending);) {
    if (now == State::ending) return;
    if (now == State::forking) a_moment(turn);
    now = State::open;
  }
  wait_for_others(State::ending);
}

void before_fork() {
  Shared& a = shared();
  a.forking.lock();
  State now = State::open;
  if (a.state.compare_exchange_strong(now, State::forking)) wait_for_others(State::forking);
  a.records_lock.lock();
  for (std::mutex* m : a.held) m->lock();
}
void after_fork_in_parent() {
  Shared& a = shared();
  for (std::mutex* m : a.held) m->unlock();
  a.records_lock.unlock();
  State now = State::forking;
  if (a.state.compare_exchange_strong(now, State::open)) a.state.notify_all();
  a.forking.unlock();
}
void after_fork_in_child() {
  Shared& a = shared();
  a.forked.store(true, std::memory_order_relaxed);
  for (Record* r : a.records)
    if (r != g_mine) {
      r->where.store(Where::outside, std::memory_order_relaxed);
      r->taken.store(false, std::memory_order_relaxed);
      r->leaving.store(0, std::memory_order_relaxed);
    }
  after_fork_in_parent();
}

// exit() destroys the calling thread's thread_local variables before any static object, so this
// destructor is the first to see the main thread's end. It does not run for pthread_exit.
struct EndOfMain {
  ~EndOfMain() {
    if (::gettid() == ::getpid()) begin_to_end();
  }
};

// Initialised before main, so that no thread_local variable of the main thread outlives `end`, and
// so that these handlers run before those of the libraries that were loaded earlier.
[[maybe_unused]] const bool g_watching = [] {
  shared();
  static thread_local const EndOfMain end;
  (void)end;
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  std::atexit(begin_to_end);
  return true;
}();

}  // namespace

thread_local constinit int Inside::depth_ = 0;
thread_local constinit bool Inside::libraries_ = false;

void Inside::enter() {
  Shared& a = shared();
  Record& r = mine();
  for (;;) {
    r.where.store(Where::inside, std::memory_order_seq_cst);
    const State now = a.state.load(std::memory_order_seq_cst);
    libraries_ = now == State::open;
    if (now == State::ending) r.where.store(Where::after_the_end, std::memory_order_release);
    if (now != State::forking) return;
    r.where.store(Where::outside, std::memory_order_seq_cst);
    a.state.wait(State::forking);
  }
}
void Inside::leave() { mine().where.store(Where::outside, std::memory_order_release); }

void hold_over_fork(std::mutex& mutex) {
  Shared& a = shared();
  std::lock_guard lock(a.records_lock);
  a.held.push_back(&mutex);
}

bool process_is_ending() { return shared().state.load(std::memory_order_relaxed) == State::ending; }
bool forked() { return shared().forked.load(std::memory_order_relaxed); }
void wait_at_the_end_for(void (*wait)()) { shared().wait.store(wait, std::memory_order_release); }

void library_was_used() {
  // Each registration permanently takes a few bytes, so their number is limited; libraries create
  // their static variables early.
  static std::atomic<int> times{0};
  if (times.load(std::memory_order_relaxed) < 4096 &&
      times.fetch_add(1, std::memory_order_relaxed) < 4096)
    std::atexit(begin_to_end);
}

namespace {
// Each initialisation may block a thread that is leaving, and permanently takes a few bytes.
// Libraries create their static variables early, so only the first scopes count.
bool is_early() {
  constexpr int kEarly = 1024;
  static std::atomic<int> times{0};
  return times.load(std::memory_order_relaxed) < kEarly &&
         times.fetch_add(1, std::memory_order_relaxed) < kEarly;
}
thread_local constinit int g_begun = 0;  // initialisation scopes of this thread
}  // namespace

// A thread that has released its record but is still alive may be about to call exit. The variables
// that the library creates at this moment would then be destroyed at once, because exit handlers
// run from last to first. So this waits briefly: either that thread is gone soon, or it announces
// the end, which then waits for this thread. The wait is bounded, because a thread_local destructor
// of that thread may itself wait for something else.
LibraryBegins::LibraryBegins() : counts_(g_begun > 0 || is_early()) {
  if (!counts_ || g_begun++ > 0) return;
  Shared& a = shared();
  constexpr int kAWhile = 2000;  // iterations, about a second
  int turn = 0;
  while (turn < kAWhile && a.about_to_leave.load() > 0 && a.state.load() != State::ending)
    a_moment(turn);
  a.beginning.fetch_add(1, std::memory_order_seq_cst);
  std::vector<Record*> records;
  {
    std::lock_guard lock(a.records_lock);
    records = a.records;
  }
  for (Record* r : records)
    while (turn < kAWhile && a.state.load() != State::ending &&
           is_alive(r->leaving.load(std::memory_order_seq_cst)))
      a_moment(turn);
}
LibraryBegins::~LibraryBegins() {
  if (!counts_ || --g_begun > 0) return;
  library_was_used();
  shared().beginning.fetch_sub(1);
}

}  // namespace tessera::inline v0
