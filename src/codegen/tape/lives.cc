#include "codegen/tape/lives.h"

#include <algorithm>

namespace tessera::inline v0::tape {

void Lives::begin(Mask mask, std::int64_t instances, bool collective, std::size_t steps,
                  int begins) {
  ++phase_;
  mask_ = mask;
  collective_ = collective;
  at_once_ = collective || instances > 1;
  if (begins) {
    under_way_ = phase_ + begins;
    began_ = position_;
  }
  // The results of a collective that overlaps earlier phases are written while those phases run.
  begin_ = phase_ == under_way_ ? began_ : position_;
  end_ = position_ + static_cast<std::int64_t>(steps) - 1;
}

void Lives::touch(const Ref& r) {
  if (r.slot < 0) return;
  const auto place = static_cast<std::size_t>(tape_.place(r.slot));
  Life& l = life_[place];
  if (l.first < 0) {
    l.first = at_once_ ? begin_ : position_;
    l.phase = phase_;
  }
  l.last = std::max(l.last, at_once_ ? end_ : position_);
  if (l.exact_first < 0) l.exact_first = position_;
  l.exact_last = position_;
  l.last_phase = phase_;
  if (l.phase != phase_ || !at_once_ || collective_ || tape_.slots[place].mask != mask_ ||
      r.absorbed)
    l.one_phase = false;
}

void Lives::step(const Step& step) {
  for_each_ref(step, [&](const Ref& r) { touch(r); });
  ++position_;
}

namespace {

// The scratch memory that a step needs.
struct ScratchBytes {
  std::int64_t operator()(const RoutineStep& s) const {
    return static_cast<std::int64_t>(s.routine->scratch_bytes);
  }
  std::int64_t operator()(const EvaluateStep&) const { return 0; }
  std::int64_t operator()(const CopyStep&) const { return 0; }
  std::int64_t operator()(const CollectiveStep&) const { return 0; }
  std::int64_t operator()(const ScanStep& s) const {
    return s.native ? of_native(*s.native) : largest_frame(s);
  }
  std::int64_t operator()(const CondStep& s) const { return largest_frame(s); }
  // The condition and the body keep their frames for the whole loop.
  std::int64_t operator()(const WhileStep& s) const {
    if (s.native) return of_native(*s.native);
    std::int64_t bytes = 0;
    for (const auto& body : s.bodies) bytes += aligned(body->frame_bytes);
    return bytes;
  }

 private:
  static std::int64_t of_native(const Native& n) {
    return static_cast<std::int64_t>(n.routine->scratch_bytes);
  }
  static std::int64_t largest_frame(const ControlStep& s) {
    std::int64_t bytes = 0;
    for (const auto& body : s.bodies) bytes = std::max(bytes, body->frame_bytes);
    return bytes;
  }
};

}  // namespace

void add_scratch(const TapeContext& ctx, DraftTape& draft) {
  Tape& tape = *draft.tape;
  for (Step& step : draft.steps) {
    const std::int64_t bytes = std::visit(ScratchBytes{}, step.kind);
    // Control flow has a slot for its frames already.
    if (step.scratch.slot < 0 && bytes > 0) {
      Slot s;
      s.space = Space::arena;
      s.mask = step.mask;
      std::int64_t stride = 1;
      for (std::size_t a = ctx.axes.size(); a-- > 0;)
        if (step.mask >> a & 1) {
          s.instance.push_back({static_cast<int>(a), stride});
          stride *= ctx.axes[a].size;
        }
      step.scratch = Ref{static_cast<int>(tape.slots.size())};
      tape.slots.push_back(s);
      draft.producer.push_back(-1);
    }
    if (step.scratch.slot >= 0)
      tape.slots[static_cast<std::size_t>(step.scratch.slot)].bytes = taken(bytes);
  }
}

}  // namespace tessera::inline v0::tape
