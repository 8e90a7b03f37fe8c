#include "runtime/cpu/call_forms.h"

#include "runtime/host/pool.h"
#include "runtime/profiler.h"

#include <algorithm>

namespace tessera::inline v0::runtime {

using namespace tape;

namespace {

// The owner of the memory to which an argument's instance number `k` points.
Buffer* buffer_of(const Bound& b, const ArgumentPlan& plan, std::size_t k) {
  if (!b.array) return b.whole.get();
  const std::int64_t at = b.array->layout->shard_at(plan.position[k]);
  return b.array->shards[static_cast<std::size_t>(at)].buffer.get();
}

}  // namespace

CallForms::CallForms(const Variant& v, std::span<const Bound> bound, const Frame& frame) {
  const Tape& tape = *v.tape;
  for (const TapeForm& f : tape.forms) {
    const Slot& to = tape.slots[static_cast<std::size_t>(f.slot)];
    std::byte** const pointers = frame.table + to.offset;
    std::fill_n(pointers, tape.stored(to), nullptr);
    if (f.constants) {
      const Slot& constant = f.constants->slots[static_cast<std::size_t>(f.operand.slot)];
      pointers[0] =
          find(f, &v.forms, f.constants->constants.data() + constant.offset + f.operand.offset);
      continue;
    }
    const auto number = static_cast<std::size_t>(f.argument);
    const ArgumentPlan& plan = v.arguments[number];
    std::byte* const* const operands =
        frame.table + tape.slots[static_cast<std::size_t>(tape.arguments[number].slot)].offset;
    const auto instance = [&](std::size_t k, std::int64_t place) {
      Buffer* const owner = buffer_of(bound[number], plan, k);
      pointers[place] =
          find(f, owner ? owner->forms() : nullptr, operands[place] + f.operand.offset);
    };
    if (!plan.committed) instance(0, 0);  // a whole array
    for (std::size_t k = 0; k < plan.instance.size(); ++k) instance(k, plan.instance[k]);
  }
}

// A call that failed before it made a form leaves it to others.
CallForms::~CallForms() {
  for (const Making& m : making_) m.to->end(Form::State::given_up);
}

std::byte* CallForms::find(const TapeForm& wanted, Forms* of, const std::byte* operand) {
  const OperandForm& form = *wanted.form;
  // Devices may share the operand, and loops may read several forms of it.
  for (const Making& m : making_)
    if (m.operand == operand && m.form->key == form.key) return m.to->data();
  Forms::Found found;
  if (of)
    found = of->find(operand, form.key, form.bytes, wanted.repeats);
  else if (wanted.repeats)
    found = Forms().find(operand, form.key, form.bytes, true);
  if (!found.form) return nullptr;
  if (found.make) making_.push_back({&form, operand, found.form.get()});
  held_.push_back(std::move(found.form));
  return held_.back()->data();
}

void CallForms::make() {
  if (making_.empty()) return;
  const profiler::Scope scope("pack operands", "kernel", profiler::kShared);
  for (const Making& m : making_) {
    constexpr std::size_t kLeastBytesToShare = std::size_t{1} << 18;
    if (m.form->tasks == 1 || m.form->bytes < kLeastBytesToShare) {
      m.form->make(m.operand, m.to->data(), 0, m.form->tasks);
    } else {
      const std::int64_t pieces =
          std::min<std::int64_t>(m.form->tasks, std::int64_t{4} * worker_count());
      parallel_for(pieces, [&](std::int64_t i) {
        m.form->make(m.operand, m.to->data(), m.form->tasks * i / pieces,
                     m.form->tasks * (i + 1) / pieces);
      });
    }
    m.to->end(Form::State::ready);
  }
  making_.clear();
}

}  // namespace tessera::inline v0::runtime
