#include "runtime/holds.h"

#include "runtime/buffer.h"

#include <algorithm>
#include <utility>

namespace tessera::inline v0::runtime {

Holds::Holds(std::span<const ArrayDataPtr> inputs, const std::vector<bool>& given,
             std::uint32_t taker)
    : inputs_(inputs) {
  for (std::size_t i = 0; i < inputs_.size() && !refused_; ++i) {
    if (inputs_[i]->claim.enter())
      state_.push_back(kUsed);
    else
      refused_ = i;
  }
  for (std::size_t i = 0; i < std::min(given.size(), state_.size()) && !refused_; ++i)
    if (given[i] && !take(i, taker)) refused_ = i;
  if (refused_) let_go();
}

bool Holds::take(std::size_t i, std::uint32_t taker) {
  const ArrayData& a = *inputs_[i];
  const Claim::Taken got = a.claim.take(taker);
  if (got == Claim::Taken::no) {  // taken by another call, or by this one if the input occurs twice
    const auto here = inputs_.begin() + static_cast<std::ptrdiff_t>(i);
    return std::find(inputs_.begin(), here, inputs_[i]) != here;
  }
  const bool exposed = a.exposed.load(std::memory_order_relaxed);
  for (const Shard& s : a.shards)
    if (s.buffer) s.buffer->forget_forms();
  state_[i] = got == Claim::Taken::alone && !exposed ? kAlone : kTaken;
  return true;
}

void Holds::let_go() {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_[i] != kUsed) inputs_[i]->claim.give_back();
    inputs_[i]->claim.leave();
  }
  state_.clear();
}

void Holds::keep() {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_[i] == kAlone || state_[i] == kOverwritten) inputs_[i]->shards.clear();
    state_[i] = kUsed;
  }
}

void Holds::lose() {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_[i] != kOverwritten) continue;
    inputs_[i]->claim.lose();
    state_[i] = kUsed;
  }
}

std::vector<Taken> Holds::hand_over() {
  std::vector<Taken> taken;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (state_[i] == kUsed) continue;
    Taken t{inputs_[i], {}, state_[i] == kOverwritten};
    if (state_[i] != kTaken) t.shards = std::exchange(inputs_[i]->shards, {});
    taken.push_back(std::move(t));
    state_[i] = kUsed;
  }
  return taken;
}

}  // namespace tessera::inline v0::runtime
