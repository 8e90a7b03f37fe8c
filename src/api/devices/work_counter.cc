#include <tessera/profile.h>

#include "runtime/dispatcher.h"
#include "runtime/work_ledger.h"

namespace tessera::inline v0 {

namespace {
MeasuredWork counted() {
  const Cost work = runtime::work_ledger::total();
  return {work.flops, work.bytes};
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
  return {now.flops - before_.flops, now.memory_traffic - before_.memory_traffic};
}

}  // namespace tessera::inline v0
