// Liveness of the values of a tape.
#pragma once

#include "codegen/tape/schedule.h"

namespace tessera::inline v0::tape {

/// Memory is allocated in whole cache lines.
inline std::int64_t aligned(std::int64_t n) { return (n + 63) / 64 * 64; }
inline std::int64_t taken(std::int64_t n) { return std::max<std::int64_t>(64, aligned(n)); }

/// The life of a place. Positions number the steps in the order of the phases.
struct Life {
  std::int64_t first = -1, last = -1;  // the range of positions in which its memory must be kept
  int phase = -1, last_phase = -1;     // the phases that define it and read it last
  bool one_phase = true;               // each instance is used by one instance of one phase only
  std::int64_t exact_first = -1, exact_last = -1;  // the range of positions within one instance
};

/// Computes lives by walking the steps phase by phase.
class Lives {
 public:
  explicit Lives(const Tape& tape) : tape_(tape), life_(tape.slots.size()) {}

  void begin(const Phase& phase) {
    begin(phase.mask, phase.instances, phase.collective, phase.steps.size(), phase.begins);
  }
  void begin(Mask mask, std::int64_t instances, bool collective, std::size_t steps, int begins);
  void step(const Step& step);

  std::int64_t positions() const { return position_; }
  const std::vector<Life>& places() const { return life_; }

 private:
  void touch(const Ref& r);

  const Tape& tape_;
  std::vector<Life> life_;
  std::int64_t position_ = 0, begin_ = 0, end_ = 0;
  int phase_ = -1, under_way_ = -1;  // under_way_: the collective phase that began early, at began_
  std::int64_t began_ = 0;
  Mask mask_ = 0;
  bool collective_ = false, at_once_ = false;
};

/// Allocates the scratch memory of a draft's steps. Bodies must have theirs already.
void add_scratch(const TapeContext& ctx, DraftTape& draft);

/// Offsets of temporaries by place: in the shared arena, or in a worker's local memory if the
/// temporary lives in one phase only.
struct Layout {
  std::vector<std::int64_t> offsets;
  std::int64_t arena = 0, local = 0;  // bytes
};
Layout lay_out(const Tape& tape, const Lives& lives);

/// The bytes of a draft's temporaries if it runs in these phases. Devices with separate memories
/// count as running at the same time.
std::int64_t bytes_of(const TapeContext& ctx, const DraftTape& draft,
                      const std::vector<PhaseOutline>& phases);

}  // namespace tessera::inline v0::tape
