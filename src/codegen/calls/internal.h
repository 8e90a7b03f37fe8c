// Shared code of the library routines.
#pragma once

#include "codegen/calls/calls.h"
#include "ops/stages.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

using ops::single_stage;

/// The routine of the op's factory; nullptr if there is no factory or it does not support these
/// types.
std::shared_ptr<const Routine> library_call(const CallArgs& a);

/// Lays out a routine's scratch memory as consecutive 64-byte aligned pieces.
class ScratchPlan {
 public:
  /// The offset of a new piece of `bytes`.
  std::size_t add(std::size_t bytes) {
    std::size_t at = size_;
    size_ += (bytes + 63) / 64 * 64;
    return at;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

/// A stage that widens `count` elements of `from` (bfloat16, float16) to float32; `locate` finds
/// both arrays.
struct Widening {
  const void* from;
  float* to;
};
Stage widening_stage(DType from, std::int64_t count,
                     std::function<Widening(const RoutineArgs&)> locate);
/// A stage that rounds `count` elements of float32 to bfloat16 or float16; `locate` finds both
/// arrays.
struct Narrowing {
  const float* from;
  void* to;
};
Stage narrowing_stage(DType to, std::int64_t count,
                      std::function<Narrowing(const RoutineArgs&)> locate);
/// Rounds `count` elements of float32 to bfloat16 or float16.
void narrow_to(DType to, const float* from, void* out, std::int64_t count);
void widen_from(DType from, const void* in, float* out, std::int64_t count);

/// The number of tasks into which work of `flops` is divided: enough for load balance, while each
/// task stays long compared to the cost of scheduling it. The default is 60 to 120 microseconds of
/// one core.
inline std::int64_t tasks_for(double flops, double flops_per_task = 1.2e7) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(flops / flops_per_task), 1, 32);
}
/// The largest divisor of `n` that is at most `n / parts` rounded up.
inline std::int64_t dividing_chunk(std::int64_t n, std::int64_t parts) {
  std::int64_t chunk = (n + parts - 1) / parts;
  while (chunk > 1 && n % chunk) --chunk;
  return std::max<std::int64_t>(1, chunk);
}

}  // namespace tessera::inline v0::codegen
