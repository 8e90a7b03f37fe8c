#include "runtime/turns.h"

#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>
#include <atomic>

namespace tessera::inline v0::runtime {
namespace {

// Numbers wrap around; they are compared for equality only.
std::atomic<unsigned> g_taken{0};  // the next free number
std::atomic<unsigned> g_turn{0};   // the number whose turn it is

bool communicates(const Equation& e) {
  return (e.op->lowering == Lowering::collective && !e.op->position) ||
         any_nested(e.attrs, [](const ProgramPtr& p) { return runtime::communicates(*p); });
}

}  // namespace

bool communicates(const Program& p) {
  return std::any_of(p.equations.begin(), p.equations.end(),
                     [](const Equation& e) { return communicates(e); });
}

std::optional<Turn> Turn::at_once() {
  unsigned now = g_turn.load(std::memory_order_acquire);
  if (!g_taken.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel,
                                       std::memory_order_relaxed))
    return std::nullopt;
  return Turn(now);
}

Turn Turn::behind_all() { return Turn(g_taken.fetch_add(1, std::memory_order_acq_rel)); }

void Turn::wait() const {
  for (unsigned now; (now = g_turn.load(std::memory_order_acquire)) != number_;)
    g_turn.wait(now, std::memory_order_acquire);
}

Turn::~Turn() {
  if (!has_) return;
  wait();  // an unused turn keeps its position until it comes
  g_turn.store(number_ + 1, std::memory_order_release);
  g_turn.notify_all();
}

}  // namespace tessera::inline v0::runtime
