#include "runtime/turns.h"

#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::runtime {
namespace {

bool communicates(const Equation& e) {
  return (e.op->lowering == Lowering::collective && !e.op->position) ||
         any_nested(e.attrs, [](const ProgramPtr& p) { return runtime::communicates(*p); });
}

}  // namespace

bool communicates(const Program& p) {
  return std::any_of(p.equations.begin(), p.equations.end(),
                     [](const Equation& e) { return communicates(e); });
}

std::optional<Turn> Turns::at_once() {
  unsigned now = turn_.load(std::memory_order_acquire);
  if (!taken_.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
    return std::nullopt;
  return Turn(*this, now);
}

Turn Turns::behind_all() { return {*this, taken_.fetch_add(1, std::memory_order_acq_rel)}; }

void Turn::wait() const {
  for (unsigned now; (now = order_->turn_.load(std::memory_order_acquire)) != number_;)
    order_->turn_.wait(now, std::memory_order_acquire);
}

Turn::~Turn() {
  if (!order_) return;
  wait();  // an unused turn keeps its position until it comes
  order_->turn_.store(number_ + 1, std::memory_order_release);
  order_->turn_.notify_all();
}

Turns& own_turns() {
  static constinit Turns turns;
  return turns;
}

}  // namespace tessera::inline v0::runtime
