// What the families of library routines share. Each factory gives the routine of one equation, or
// nullptr where its library does not take these types.
#pragma once

#include "codegen/calls/calls.h"

#include <span>

namespace tessera::inline v0::codegen {

using CallFactory = std::shared_ptr<const Routine> (*)(const CallArgs&);

std::shared_ptr<const Routine> dot_general_call(const CallArgs& a);  // dot.cc
std::shared_ptr<const Routine> concatenate_call(const CallArgs& a);  // concatenate.cc
std::shared_ptr<const Routine> convolution_call(const CallArgs& a);  // conv.cc
std::shared_ptr<const Routine> cumulative_call(const CallArgs& a);   // cumulative.cc
std::shared_ptr<const Routine> scatter_call(const CallArgs& a);      // scatter.cc
std::shared_ptr<const Routine> sort_call(const CallArgs& a);         // sort.cc
std::shared_ptr<const Routine> update_call(const CallArgs& a);       // update.cc

/// What the factory of the op's name makes; nullptr where there is none.
std::shared_ptr<const Routine> library_call(const CallArgs& a);

/// Lays out a routine's scratch memory: 64-byte aligned pieces, one after the other.
class ScratchPlan {
 public:
  /// Offset of `bytes` more.
  std::size_t add(std::size_t bytes) {
    std::size_t at = size_;
    size_ += (bytes + 63) / 64 * 64;
    return at;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

/// Copies input 0 to output 0 unless they are one memory.
Stage copy_stage(std::int64_t bytes);

/// A stage of one task.
inline Stage single_stage(std::function<void(const RoutineArgs&)> run) {
  return {1, [run = std::move(run)](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
            if (begin < end) run(args);
          }};
}

/// A stage that widens `count` elements of `from` (bfloat16, float16) to float32, both found by
/// `locate`.
struct Widening {
  const void* from;
  float* to;
};
Stage widening_stage(DType from, std::int64_t count,
                     std::function<Widening(const RoutineArgs&)> locate);
/// A stage that rounds `count` elements of float32 to bfloat16 or float16, both found by `locate`.
struct Narrowing {
  const float* from;
  void* to;
};
Stage narrowing_stage(DType to, std::int64_t count,
                      std::function<Narrowing(const RoutineArgs&)> locate);
/// `count` elements of float32, each rounded once to bfloat16 or float16.
void narrow_to(DType to, const float* from, void* out, std::int64_t count);
void widen_from(DType from, const void* in, float* out, std::int64_t count);

/// Into how many tasks work of `flops` is cut: enough to share, each long against the cost of
/// handing it out.
std::int64_t tasks_for(double flops);
/// The largest divisor of `n` that is at most `n / parts` rounded up.
std::int64_t dividing_chunk(std::int64_t n, std::int64_t parts);

}  // namespace tessera::inline v0::codegen
