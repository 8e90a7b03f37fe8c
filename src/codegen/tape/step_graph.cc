#include "codegen/tape/schedule.h"

namespace tessera::inline v0::tape {

StepGraph::StepGraph(const DraftTape& draft)
    : before(draft.steps.size()), users(draft.steps.size()), behind(draft.steps.size()) {
  const std::size_t n = draft.steps.size();
  const auto wait = [&](std::size_t i, std::size_t p) {
    before[i].push_back(static_cast<StepNumber>(p));
    users[p].push_back(static_cast<StepNumber>(i));
  };
  // A step that reads what other instances of the producer wrote must wait for the end of the
  // producer's phase.
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p : draft.after[i]) wait(i, p);
    for (const Ref& r : draft.steps[i].inputs) {
      int p = draft.producer[static_cast<std::size_t>(r.slot)];
      if (p < 0 || static_cast<std::size_t>(p) == i) continue;
      const Step& producer = draft.steps[static_cast<std::size_t>(p)];
      wait(i, static_cast<std::size_t>(p));
      const bool parts = std::holds_alternative<CopyStep>(producer.kind) &&
                         producer.mask != draft.tape->slots[static_cast<std::size_t>(r.slot)].mask;
      if (r.absorbed || parts) behind[i].push_back(static_cast<StepNumber>(p));
    }
  }

  // A step that overwrites a value comes after the value's other readers. If they read instances
  // other than their own, it comes after their phase.
  std::vector<std::vector<std::pair<StepNumber, bool>>> readers(draft.tape->slots.size());
  for (std::size_t i = 0; i < n; ++i)
    for (const Ref& r : draft.steps[i].inputs)
      readers[static_cast<std::size_t>(r.slot)].emplace_back(static_cast<StepNumber>(i),
                                                             r.absorbed != 0);
  for (std::size_t i = 0; i < n; ++i)
    for (const Ref& out : draft.steps[i].outputs) {
      const int over = draft.tape->slots[static_cast<std::size_t>(out.slot)].over;
      if (over < 0) continue;
      if (int p = draft.producer[static_cast<std::size_t>(over)];
          p >= 0 && static_cast<std::size_t>(p) != i)
        wait(i, static_cast<std::size_t>(p));
      for (auto [reader, others] : readers[static_cast<std::size_t>(over)]) {
        if (reader == i) continue;
        wait(i, reader);
        if (others) behind[i].push_back(reader);
      }
    }
}

}  // namespace tessera::inline v0::tape
