#include "runtime/cpu/queued_call.h"

#include "base/float_mode.h"
#include "ops/control/host_call.h"
#include "runtime/cpu/call_forms.h"
#include "runtime/cpu/given.h"
#include "runtime/profiler.h"
#include "runtime/work_ledger.h"

#include <algorithm>

namespace tessera::inline v0::runtime {

void execute_for(std::string_view name, const tape::Tape& tape, const Frame& frame) {
  try {
    const ProgramFloats floats;
    if (frame.given) frame.given->settle();
    if (frame.forms) frame.forms->make();
    if (!work_ledger::on()) return execute(tape, frame, true);
    CallWork work;
    const double devices = tape.devices;
    execute(tape, frame, true, {&work, devices});
    Work all = work.total();
    all.cost = {all.cost.flops / devices, all.cost.bytes / devices};
    all.received /= devices;
    for (auto& [axis, bytes] : all.along) bytes /= devices;
    work_ledger::add(all);
  } catch (const std::bad_alloc&) {
    Message(name)
        .problem("there is no memory for what it works with")
        .rule("sorts and library calls need memory besides their operands and results")
        .advice("make the arrays smaller, or let go of some: memory_table() says what is held")
        .raise<DeviceError>();
  }
}

// Counts are decremented before the references are released, so that a reader never mistakes
// another's reference for one of ours.
QueuedCall::~QueuedCall() {
  for (const BufferPtr& b : buffers_) b->in_flight.fetch_sub(1);
  for (const Taken& t : taken_)
    for (const Shard& s : t.shards) s.buffer->in_flight.fetch_sub(1);
}

void QueuedCall::hold(const BufferPtr& buffer) {
  if (!buffer || (!buffers_.empty() && buffers_.back() == buffer)) return;
  buffers_.push_back(buffer);
  buffer->in_flight.fetch_add(1);
}

bool QueuedCall::may_overtake() const {
  return taken_.empty() &&
         std::all_of(before_.begin(), before_.end(), [](const auto& b) { return b->done(); }) &&
         !ops::has_ordered_effects(owner_->program());
}

void QueuedCall::take(std::vector<Taken> taken) {
  taken_ = std::move(taken);
  for (const Taken& t : taken_)
    for (const Shard& s : t.shards) s.buffer->in_flight.fetch_add(1);
}

void QueuedCall::give_back(bool begun) {
  for (Taken& t : taken_) {
    if (begun && t.overwritten) {
      t.array->claim.lose();
      continue;
    }
    for (const Shard& s : t.shards) s.buffer->in_flight.fetch_sub(1);
    if (!t.shards.empty()) t.array->shards = std::exchange(t.shards, {});
    t.array->claim.give_back();
  }
}

void QueuedCall::run() {
  profiler::Scope scope(owner_->name(), "call", profiler::kHost);
  bool begun = false;
  try {
    // Already complete, since calls run in order; rethrows the error of a failed call.
    for (auto& b : before_) b->wait();
    begun = true;
    execute_for(owner_->name(), *tape_, frame_);
  } catch (...) {
    give_back(begun);
    throw;
  }
}

}  // namespace tessera::inline v0::runtime
