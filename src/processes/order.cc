#include "processes/order.h"

#include "base/process.h"
#include "base/thread_kept.h"
#include "base/warning.h"
#include "processes/call_order.h"
#include "processes/patience.h"

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline v0::processes {
namespace {

// A thread's memory of its calls in one group. The order outlives the group for as long as
// threads do that have made calls in it.
struct ThreadCalls {
  std::shared_ptr<CallOrder> order;
  // The thread's number in process 0, assigned in the order in which its threads first make calls.
  // The corresponding threads of other processes have the same number. -1: not assigned yet.
  int lane = -1;
  std::uint64_t first = 0;  // signature of its first call, which identifies it
  int depth = 0;            // nesting depth of calls
  bool counted = false;     // among the calling threads, without several_threads
};

class CallsOfThread {
 public:
  CallsOfThread() = default;
  CallsOfThread(const CallsOfThread&) = delete;
  CallsOfThread& operator=(const CallsOfThread&) = delete;
  ~CallsOfThread() {
    for (const auto& calls : all_) forget(*calls);
  }

  ThreadCalls& in(const std::shared_ptr<CallOrder>& order) {
    for (const auto& calls : all_)
      if (calls->order == order) return *calls;
    ThreadCalls& calls = *all_.emplace_back(std::make_unique<ThreadCalls>());
    calls.order = order;
    return calls;
  }

 private:
  static void forget(const ThreadCalls& calls) {
    CallOrder& o = *calls.order;
    if (calls.counted) --o.callers;
    if (calls.first == 0) return;
    const std::lock_guard lock(o.mutex);
    o.firsts.erase(calls.first);
  }
  std::vector<std::unique_ptr<ThreadCalls>> all_;
};
thread_local ThreadKept<CallsOfThread> t_calls;

// Warns about a second calling thread. Two threads may reach their calls in different orders in
// different processes, and if they call the same program, this goes unnoticed. The library cannot
// know whether the program synchronises them.
void note_caller(ThreadCalls& thread, std::string_view name, const SourceLoc& loc) {
  CallOrder& o = *thread.order;
  if (!std::exchange(thread.counted, true)) ++o.callers;
  if (o.callers.load(std::memory_order_relaxed) < 2 || o.raced.exchange(true)) return;
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
void get_known(ThreadCalls& thread, const Subject& subject, std::uint64_t signature) {
  if (thread.first != 0) return;
  if (!thread.order->firsts.insert(signature).second)
    Message(subject.collective)
        .problem("two threads call the same program first")
        .rule(kRule)
        .from(subject.loc)
        .advice("give each thread a program of its own to begin with: a jit with another name")
        .raise<CollectiveError>();
  thread.first = signature;
}

// Publishes in process 0 which call one of its threads has reached.
void tell(Group& group, const ThreadCalls& thread, const Subject& subject,
          std::uint64_t signature) {
  CallOrder& o = *thread.order;
  OrderEntry entry{};
  entry.lane = thread.lane;
  entry.signature = signature;
  const std::string text = subject_text(subject);
  text.copy(entry.text, sizeof entry.text - 1);
  Seat& mine = group.mine();
  for (const int r : group.node())
    if (r != group.rank() && o.next > kOrderEntries) {
      Seat& seat = *group.seat(r);
      Patience(group, subject, r).until(seat, seat.ordered, o.next - kOrderEntries);
    }
  group.entry(mine, o.next) = entry;
  mine.ordered.store(o.next, std::memory_order_release);
  wake(mine, mine.ordered);
  for (int r = 0; r < group.count(); ++r) {
    if (group.seat(r)) continue;
    if (o.sent.size() >= kOrderEntries) {
      Patience(group, subject, Patience::kAll).until(o.sent.front().request);
      o.sent.pop_front();
    }
    CallOrder::Sent& sent = o.sent.emplace_back(std::make_unique<OrderEntry>(entry), nullptr);
    group.transport().start(subject).send(r, kOrderTag, sent.entry.get(), sizeof(OrderEntry),
                                          sent.request);
  }
}

// Waits for process 0's entry for a call and returns it.
OrderEntry ask(Group& group, std::uint32_t number, const Subject& subject) {
  OrderEntry entry{};
  if (Seat* leader = group.seat(0)) {
    Patience(group, subject, 0).until(*leader, leader->ordered, number);
    entry = group.entry(*leader, number);
  } else {
    TesseraRequest* request = nullptr;
    group.transport().start(subject).receive(0, kOrderTag, &entry, sizeof entry, request);
    Patience(group, subject, 0).until(request);
  }
  Seat& mine = group.mine();
  mine.ordered.store(number, std::memory_order_release);
  wake(mine, mine.ordered);
  return entry;
}

// Whether the next call is this thread's; if so, assigns its lane. The caller holds the lock.
bool comes_next(Group& group, ThreadCalls& thread, const Subject& subject,
                std::uint64_t signature) {
  CallOrder& o = *thread.order;
  const OrderEntry& entry = *o.known;
  if (thread.lane == entry.lane) {
    if (entry.signature == signature) return true;
    fail(group, subject,
         std::string("a thread of process 0 came to ") + entry.text + ", that of this one to " +
             subject_text(subject),
         kRule, "look for what depends on process_index(), on a clock or on files that differ");
  }
  if (thread.lane >= 0 || entry.signature != signature) return false;
  if (!o.met.insert(entry.lane).second) return false;
  thread.lane = entry.lane;
  return true;
}

void wait_for_turn(Group& group, ThreadCalls& thread, const Subject& subject,
                   std::uint64_t signature) {
  CallOrder& o = *thread.order;
  std::unique_lock lock(o.mutex);
  get_known(thread, subject, signature);
  const std::int64_t begin = monotonic_ns();
  for (;;) {
    if (!o.taken && o.known && comes_next(group, thread, subject, signature)) break;
    if (!o.known && !o.asking) {
      o.asking = true;
      const std::uint32_t number = o.next;
      lock.unlock();
      std::optional<OrderEntry> entry;
      std::exception_ptr error;
      try {
        entry = ask(group, number, subject);
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
    if (group.gave_up())
      fail(group, subject, "another thread of this process gave up", kRule, "look at its error");
    o.changed.wait_for(lock, std::chrono::milliseconds(50));
    if (o.known && !o.taken &&
        static_cast<double>(monotonic_ns() - begin) * 1e-9 > group.timeout()) {
      const std::string text = o.known->text;
      fail(group, subject,
           "process 0 came to " + text + ", and no thread of this process has for " +
               seconds_text(group.timeout()),
           kRule, "look at what the thread does that makes this call in process 0");
    }
  }
  o.taken = true;
}

}  // namespace

InOrder::InOrder(std::uint64_t signature, std::string_view name, const SourceLoc& loc)
    : InOrder(own_group(), signature, name, loc) {}

InOrder::InOrder(Group& group, std::uint64_t signature, std::string_view name, const SourceLoc& loc)
    : group_(group) {
  ThreadCalls& thread = t_calls->in(group.order());
  if (thread.depth > 0 || forked()) return;
  if (!group.several_threads()) {
    note_caller(thread, name, loc);
    return;
  }
  CallOrder& o = *thread.order;
  const Subject subject{signature, "", name, loc};
  if (group.rank() == 0) {
    std::unique_lock lock(o.mutex);
    o.changed.wait(lock, [&] { return !o.taken; });
    get_known(thread, subject, signature);
    if (thread.lane < 0) thread.lane = o.lanes++;
    tell(group, thread, subject, signature);
    o.taken = true;
  } else {
    wait_for_turn(group, thread, subject, signature);
  }
  has_ = true;
  ++thread.depth;
}

InOrder::~InOrder() {
  if (!has_) return;
  --t_calls->in(group_.order()).depth;
  CallOrder& o = *group_.order();
  {
    const std::lock_guard lock(o.mutex);
    o.taken = false;
    o.known.reset();
    ++o.next;
  }
  o.changed.notify_all();
}

}  // namespace tessera::inline v0::processes
