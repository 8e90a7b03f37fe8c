// Runs large calls in order on one thread, from a queue of bounded depth.
#pragma once

#include "runtime/completion.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::inline v0::runtime {

class Turns;

/// Queues `work` and returns its completion. Blocks while the queue is full. An exception of `work`
/// is kept, and every wait rethrows it; library errors are prefixed with `name` and the fact that
/// the call was asynchronous. The queue is drained at exit and before a fork. Without a thread (in
/// a forked child, once the process has begun to end, or if the system has none left), `work` runs
/// immediately on the caller, after all queued calls. `turns`: the order in which this call takes a
/// turn (runtime/turns.h); null: it does not communicate. Requires an Inside (base/process.h).
///
/// The process has one queue, because a call runs on all workers, and two calls gain nothing from
/// running at the same time. However, a host callback of a call (HostFunction in ir/callback.h) may
/// wait for a thread that waits for a later call. If a callback takes long, later calls run
/// meanwhile if `may_overtake` returns true, that is, if their operands are complete and their
/// effects are not ordered. It is called under the queue's lock.
std::shared_ptr<Completion> dispatch_async(const std::string& name, std::function<void()> work,
                                           Turns* turns = nullptr,
                                           std::function<bool()> may_overtake = {});

/// The number of calls that are queued or running.
int calls_in_flight();
/// Waits for all calls that are queued at this moment.
void wait_for_calls();

}  // namespace tessera::inline v0::runtime
