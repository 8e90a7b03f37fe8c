#include "processes/order.h"

#include "base/process.h"
#include "base/warning.h"
#include "processes/patience.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tessera::inline v0::processes {
namespace {

// A thread's number in process 0, assigned in the order in which its threads first make calls. The
// corresponding threads of other processes have the same number. -1: not assigned yet.
struct Lane {
  int number = -1;
  std::uint64_t first = 0;  // signature of its first call, which identifies it
  ~Lane();
};
thread_local Lane t_lane;
thread_local int t_depth = 0;  // nesting depth of calls

// A message to another machine that is still being sent.
struct Sent {
  std::unique_ptr<OrderEntry> entry;
  TesseraRequest* request;
};

struct CallOrder {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t next = 1;           // number of the next call, from 1
  bool taken = false;               // the next call is in progress
  bool asking = false;              // a thread waits for process 0's entry
  std::optional<OrderEntry> known;  // process 0's entry for the next call
  int lanes = 0;                    // process 0: number of threads that have made calls
  std::set<int> met;                // other processes: lanes that have been assigned
  std::set<std::uint64_t> firsts;   // of living threads
  std::deque<Sent> sent;
};
CallOrder& order() {
  static CallOrder* o = new CallOrder;
  return *o;
}

Lane::~Lane() {
  if (first == 0) return;
  CallOrder& o = order();
  const std::lock_guard lock(o.mutex);
  o.firsts.erase(first);
}

// Without several_threads: the number of living threads that have made calls.
std::atomic<int> g_callers{0};
std::atomic<bool> g_raced{false};
struct Caller {
  Caller() { ++g_callers; }
  ~Caller() { --g_callers; }
};

// Warns about a second calling thread. Two threads may reach their calls in different orders in
// different processes, and if they call the same program, this goes unnoticed. It cannot be seen
// from outside whether the program synchronises them.
void note_caller(std::string_view name, const SourceLoc& loc) {
  thread_local const Caller caller;
  if (g_callers.load(std::memory_order_relaxed) < 2 || g_raced.exchange(true)) return;
  warn(Message(name)
           .problem("a second thread makes calls that all processes make")
           .rule("they come in one order in all processes, and that of two threads is not known")
           .from(loc)
           .advice(
               "distributed::initialize({.several_threads = true}), or make them by one thread"));
}

constexpr const char* kRule =
    "several threads of each process make calls in the order in which those of process 0 do, and a "
    "thread is known by the first program that it calls";

// Registers a thread at its first call. The caller holds the lock.
void get_known(CallOrder& o, const Subject& subject, std::uint64_t signature) {
  if (t_lane.first != 0) return;
  if (!o.firsts.insert(signature).second)
    Message(subject.collective)
        .problem("two threads call the same program first")
        .rule(kRule)
        .from(subject.loc)
        .advice("give each thread a program of its own to begin with: a jit with another name")
        .raise<CollectiveError>();
  t_lane.first = signature;
}

// Publishes in process 0 which call one of its threads has reached.
void tell(CallOrder& o, const Subject& subject, std::uint64_t signature) {
  All& a = all();
  OrderEntry entry{};
  entry.lane = t_lane.number;
  entry.signature = signature;
  const std::string text = subject_text(subject);
  text.copy(entry.text, sizeof entry.text - 1);
  Seat& mine = a.mine();
  for (const int r : a.node)
    if (r != a.rank && o.next > kOrderEntries) {
      Seat& seat = *a.seat(r);
      Patience(subject, r).until(seat, seat.ordered, o.next - kOrderEntries);
    }
  entries_of(mine, a.seats.size())[o.next % kOrderEntries] = entry;
  mine.ordered.store(o.next, std::memory_order_release);
  wake(mine, mine.ordered);
  for (int r = 0; r < a.count; ++r) {
    if (a.seat(r)) continue;
    if (o.sent.size() >= kOrderEntries) {
      Patience(subject, Patience::kAll).until(o.sent.front().request);
      o.sent.pop_front();
    }
    Sent& sent = o.sent.emplace_back(std::make_unique<OrderEntry>(entry), nullptr);
    const std::lock_guard lock(a.plugin);
    check(a.transport.send(&a.transport, r, static_cast<int>(kOrderTag), sent.entry.get(),
                           sizeof(OrderEntry), &sent.request),
          subject.collective, subject.loc);
  }
}

// Waits for process 0's entry for a call and returns it.
OrderEntry ask(std::uint32_t number, const Subject& subject) {
  All& a = all();
  OrderEntry entry{};
  if (Seat* leader = a.seat(0)) {
    Patience(subject, 0).until(*leader, leader->ordered, number);
    entry = entries_of(*leader, a.seats.size())[number % kOrderEntries];
  } else {
    TesseraRequest* request = nullptr;
    {
      const std::lock_guard lock(a.plugin);
      check(a.transport.receive(&a.transport, 0, static_cast<int>(kOrderTag), &entry, sizeof entry,
                                &request),
            subject.collective, subject.loc);
    }
    Patience(subject, 0).until(request);
  }
  Seat& mine = a.mine();
  mine.ordered.store(number, std::memory_order_release);
  wake(mine, mine.ordered);
  return entry;
}

// Whether the next call is this thread's; if so, assigns its lane. The caller holds the lock.
bool comes_next(CallOrder& o, const Subject& subject, std::uint64_t signature) {
  const OrderEntry& entry = *o.known;
  if (t_lane.number == entry.lane) {
    if (entry.signature == signature) return true;
    fail(subject,
         std::string("a thread of process 0 came to ") + entry.text + ", that of this one to " +
             subject_text(subject),
         kRule, "look for what depends on process_index(), on a clock or on files that differ");
  }
  if (t_lane.number >= 0 || entry.signature != signature) return false;
  if (!o.met.insert(entry.lane).second) return false;
  t_lane.number = entry.lane;
  return true;
}

void wait_for_turn(CallOrder& o, const Subject& subject, std::uint64_t signature) {
  std::unique_lock lock(o.mutex);
  get_known(o, subject, signature);
  const std::int64_t begin = monotonic_ns();
  for (;;) {
    if (!o.taken && o.known && comes_next(o, subject, signature)) break;
    if (!o.known && !o.asking) {
      o.asking = true;
      const std::uint32_t number = o.next;
      lock.unlock();
      std::optional<OrderEntry> entry;
      std::exception_ptr error;
      try {
        entry = ask(number, subject);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      o.known = entry;
      o.asking = false;
      o.changed.notify_all();
      if (error) std::rethrow_exception(error);
      continue;
    }
    if (all().mine().broken.load())
      fail(subject, "another thread of this process gave up", kRule, "look at its error");
    o.changed.wait_for(lock, std::chrono::milliseconds(50));
    if (o.known && !o.taken && static_cast<double>(monotonic_ns() - begin) * 1e-9 > all().timeout) {
      const std::string text = o.known->text;
      fail(subject,
           "process 0 came to " + text + ", and no thread of this process has for " +
               seconds_text(all().timeout),
           kRule, "look at what the thread does that makes this call in process 0");
    }
  }
  o.taken = true;
}

}  // namespace

bool several_threads_call() { return g_raced.load(std::memory_order_relaxed); }

InOrder::InOrder(std::uint64_t signature, std::string_view name, const SourceLoc& loc) {
  All& a = all();
  if (t_depth > 0 || forked()) return;
  if (!a.several_threads) {
    note_caller(name, loc);
    return;
  }
  CallOrder& o = order();
  const Subject subject{signature, "", name, loc};
  if (a.rank == 0) {
    std::unique_lock lock(o.mutex);
    o.changed.wait(lock, [&] { return !o.taken; });
    get_known(o, subject, signature);
    if (t_lane.number < 0) t_lane.number = o.lanes++;
    tell(o, subject, signature);
    o.taken = true;
  } else {
    wait_for_turn(o, subject, signature);
  }
  has_ = true;
  ++t_depth;
}

InOrder::~InOrder() {
  if (!has_) return;
  --t_depth;
  CallOrder& o = order();
  {
    const std::lock_guard lock(o.mutex);
    o.taken = false;
    o.known.reset();
    ++o.next;
  }
  o.changed.notify_all();
}

}  // namespace tessera::inline v0::processes
