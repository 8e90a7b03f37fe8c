// Runs large calls in order on one thread, behind a queue of bounded depth.
#pragma once

#include "runtime/completion.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::inline v0::runtime {

/// Queues `work` and gives its completion. Blocks while the queue is full. An exception of `work`
/// is kept: waiting rethrows it as often as it is asked, with `name` and the word that the call was
/// asynchronous in front of library errors. The queue is drained at exit and before a fork. Where
/// there is no thread for it, in a child of fork, once the process has begun to end, or when the
/// system gives none, work runs at once on the caller, after what is queued. `in_turn`: it takes a
/// turn among the calls that communicate (runtime/turns.h). To be called inside (base/process.h).
std::shared_ptr<Completion> dispatch_async(const std::string& name, std::function<void()> work,
                                           bool in_turn = false);

/// Calls queued or running.
int calls_in_flight();
/// Returns when those have run that were queued before.
void wait_for_calls();

}  // namespace tessera::inline v0::runtime
