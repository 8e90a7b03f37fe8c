#include "transform/messages.h"

#include "base/message.h"
#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace tessera::inline v0 {

namespace {

using Numbers = std::vector<std::uint32_t>;

bool communicates(const Equation& e) {
  return e.op->lowering == Lowering::collective && e.op->exchange != Exchange::none &&
         e.inputs.size() == 1 && !e.op->barrier && !has_effects(e);
}

// Whether one message can carry both collectives: the same operation between the same devices.
// Collectives that gather or scatter may do so along different dimensions.
bool alike(const Program& p, const Equation& a, const Equation& b) {
  if (a.op != b.op || p.types[a.inputs[0]].dtype != p.types[b.inputs[0]].dtype) return false;
  if (a.op->exchange == Exchange::permute || a.op->exchange == Exchange::broadcast)
    return a.attrs == b.attrs;
  const CollectiveAttrs x(a.attrs), y(b.attrs);
  return x.axes == y.axes && x.groups == y.groups;
}

void join(Numbers& to, const Numbers& more) {
  if (more.empty() || &to == &more) return;
  Numbers both;
  both.reserve(to.size() + more.size());
  std::set_union(to.begin(), to.end(), more.begin(), more.end(), std::back_inserter(both));
  to = std::move(both);
}

struct Carried {
  Numbers equations;
  std::int64_t bytes = 0, most = 0;
  Numbers after;  // messages on which it depends directly
};

// Adds each collective to the first message that has room for it and on which it does not depend.
class Combining {
 public:
  Combining(const Program& p, const MessageSize& most)
      : p_(p), most_(most), behind_(p.types.size()) {}

  std::vector<Carried> run() {
    for (std::size_t k = 0; k < p_.equations.size(); ++k) {
      const Equation& e = p_.equations[k];
      Numbers before;
      for (Var v : e.inputs) join(before, behind_[v]);
      if (has_effects(e)) {  // effects keep their order
        join(before, effects_);
        effects_ = before;
      }
      if (communicates(e)) before = {message_of(static_cast<std::uint32_t>(k), before)};
      for (Var v : e.outputs) behind_[v] = before;
    }
    return std::move(messages_);
  }

 private:
  std::uint32_t message_of(std::uint32_t k, const Numbers& before) {
    const Equation& e = p_.equations[k];
    const std::int64_t bytes = p_.types[e.inputs[0]].bytes();
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      Carried& message = messages_[m];
      if (message.bytes + bytes > message.most ||
          !alike(p_, p_.equations[message.equations[0]], e) ||
          waits(before, static_cast<std::uint32_t>(m)))
        continue;
      message.equations.push_back(k);
      message.bytes += bytes;
      join(message.after, before);
      return static_cast<std::uint32_t>(m);
    }
    messages_.push_back({{k}, bytes, most_(CollectiveAttrs(e.attrs).axes), before});
    seen_.push_back(0);
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }

  // Whether `wanted` is one of the messages `some`, or one of them depends on it.
  bool waits(const Numbers& some, std::uint32_t wanted) {
    ++turn_;
    Numbers left = some;
    while (!left.empty()) {
      const std::uint32_t m = left.back();
      left.pop_back();
      if (m == wanted) return true;
      if (seen_[m] == turn_) continue;
      seen_[m] = turn_;
      left.insert(left.end(), messages_[m].after.begin(), messages_[m].after.end());
    }
    return false;
  }

  const Program& p_;
  const MessageSize& most_;
  std::vector<Numbers> behind_;  // for each value, the messages on which it depends directly
  Numbers effects_;              // the same for the last effect
  std::vector<Carried> messages_;
  std::vector<std::size_t> seen_;  // for each message, the last search that visited it
  std::size_t turn_ = 0;
};

// Checks whether any two collectives could be combined. Few programs have such a pair; the others
// are not analysed further.
bool may_combine(const Program& p, const MessageSize& most) {
  std::vector<const Equation*> small;
  for (const Equation& e : p.equations) {
    if (!communicates(e)) continue;
    const std::int64_t bytes = p.types[e.inputs[0]].bytes();
    if (bytes >= most(CollectiveAttrs(e.attrs).axes)) continue;
    if (std::any_of(small.begin(), small.end(),
                    [&](const Equation* other) { return alike(p, *other, e); }))
      return true;
    small.push_back(&e);
  }
  return false;
}

}  // namespace

Messages::Messages(const Program& p, const MessageSize& most)
    : equations_(p.equations.size()), begins_{0} {
  const std::size_t n = p.equations.size();
  std::iota(equations_.begin(), equations_.end(), std::uint32_t{0});
  std::vector<Carried> messages;
  if (may_combine(p, most)) messages = Combining(p, most).run();
  std::erase_if(messages, [](const Carried& m) { return m.equations.size() == 1; });
  if (messages.empty()) {
    begins_.resize(n + 1);
    std::iota(begins_.begin(), begins_.end(), std::size_t{0});
    return;
  }

  // For each equation, the last equation of its message, which represents the whole message.
  Numbers stands(n);
  std::iota(stands.begin(), stands.end(), std::uint32_t{0});
  std::vector<const Numbers*> carried(n, nullptr);
  for (const Carried& m : messages) {
    for (std::uint32_t k : m.equations) stands[k] = m.equations.back();
    carried[m.equations.back()] = &m.equations;
  }
  constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  Numbers maker(p.types.size(), kNone);
  std::vector<Numbers> readers(n);
  Numbers waiting(n, 0);
  const auto wait = [&](std::uint32_t reader, std::uint32_t producer) {
    readers[producer].push_back(reader);
    ++waiting[reader];
  };
  std::uint32_t effect = kNone;  // the last effect so far
  for (std::uint32_t k = 0; k < n; ++k) {
    const Equation& e = p.equations[k];
    for (Var v : e.inputs)
      if (maker[v] != kNone) wait(stands[k], maker[v]);
    for (Var v : e.outputs) maker[v] = stands[k];
    if (!has_effects(e)) continue;
    if (effect != kNone) wait(k, effect);
    effect = k;
  }
  std::priority_queue<std::uint32_t, Numbers, std::greater<>> ready;
  for (std::uint32_t k = 0; k < n; ++k)
    if (stands[k] == k && waiting[k] == 0) ready.push(k);
  equations_.clear();
  while (!ready.empty()) {
    const std::uint32_t k = ready.top();
    ready.pop();
    if (carried[k])
      equations_.insert(equations_.end(), carried[k]->begin(), carried[k]->end());
    else
      equations_.push_back(k);
    begins_.push_back(equations_.size());
    for (std::uint32_t reader : readers[k])
      if (--waiting[reader] == 0) ready.push(reader);
  }
  if (equations_.size() != n)
    throw InternalError("messages of '" + p.name + "' wait for one another in a circle");
}

}  // namespace tessera::inline v0
