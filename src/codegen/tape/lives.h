// When the values of a tape are needed.
#pragma once

#include "codegen/tape/schedule.h"

namespace tessera::inline v0::tape {

/// Memory is taken in whole lines of the cache.
inline std::int64_t aligned(std::int64_t n) { return (n + 63) / 64 * 64; }
inline std::int64_t taken(std::int64_t n) { return std::max<std::int64_t>(64, aligned(n)); }

/// Of a place: positions are those of steps in the order of the phases.
struct Life {
  std::int64_t first = -1, last = -1;  // the first and last position that it has to be kept for
  int phase = -1, last_phase = -1;     // where it is defined and last read
  bool one_phase = true;               // its instances are each for one instance of one phase
  std::int64_t exact_first = -1, exact_last = -1;  // positions as one instance sees them
};

/// Walks steps phase by phase.
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
  int phase_ = -1, under_way_ = -1;  // under_way_: a phase that has begun before its turn, at
  std::int64_t began_ = 0;
  Mask mask_ = 0;
  bool collective_ = false, at_once_ = false;
};

/// Gives the steps of a draft the memory that they work in. Bodies must have theirs.
void add_scratch(const TapeContext& ctx, DraftTape& draft);

/// Where temporaries lie, by place: in memory of all, or where they are for one phase only, in that
/// of a worker.
struct Layout {
  std::vector<std::int64_t> offsets;
  std::int64_t arena = 0, local = 0;  // bytes
};
Layout lay_out(const Tape& tape, const Lives& lives);

/// The bytes of the temporaries of a draft in such phases; devices with memories of their own work
/// at the same time.
std::int64_t bytes_of(const TapeContext& ctx, const DraftTape& draft,
                      const std::vector<PhaseOutline>& phases);

}  // namespace tessera::inline v0::tape
