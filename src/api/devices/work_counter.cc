#include <tessera/profile.h>

#include "runtime/dispatcher.h"
#include "runtime/work_ledger.h"

namespace tessera::inline v0 {

namespace {
MeasuredWork counted() {
  const runtime::Work work = runtime::work_ledger::total();
  return {work.cost.flops, work.cost.bytes, work.received};
}
}  // namespace

// Calls that began before are not its own.
WorkCounter::WorkCounter() {
  runtime::wait_for_calls();
  before_ = counted();
  ++runtime::work_ledger::g_readers;
}
WorkCounter::~WorkCounter() { --runtime::work_ledger::g_readers; }

MeasuredWork WorkCounter::total() const {
  runtime::wait_for_calls();
  const MeasuredWork now = counted();
  return {now.flops - before_.flops, now.memory_traffic - before_.memory_traffic,
          now.moved_bytes - before_.moved_bytes};
}

}  // namespace tessera::inline v0
