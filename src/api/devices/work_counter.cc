#include <tessera/profile.h>

#include "api/trace/gather.h"
#include "runtime/host/dispatcher.h"
#include "runtime/work_ledger.h"

namespace tessera::inline v0 {

namespace {
MeasuredWork counted_work() {
  const runtime::Work work = runtime::work_ledger::total();
  return {work.cost.flops, work.cost.bytes, work.received, work.along};
}
}  // namespace

// Calls that began earlier are not counted.
WorkCounter::WorkCounter() {
  detail::run_gathered();
  runtime::wait_for_calls();
  before_ = counted_work();
  ++runtime::work_ledger::g_readers;
}
WorkCounter::~WorkCounter() { --runtime::work_ledger::g_readers; }

MeasuredWork WorkCounter::total() const {
  detail::run_gathered();
  runtime::wait_for_calls();
  const MeasuredWork now = counted_work();
  MeasuredWork since{now.flops - before_.flops, now.memory_traffic - before_.memory_traffic,
                     now.moved_bytes - before_.moved_bytes};
  for (const auto& [axis, bytes] : now.moved_along) {
    const auto at = before_.moved_along.find(axis);
    const double more = bytes - (at == before_.moved_along.end() ? 0 : at->second);
    if (more > 0) since.moved_along[axis] = more;
  }
  return since;
}

}  // namespace tessera::inline v0
