// Stages that several ops' routines share.
#pragma once

#include "ir/routine.h"

namespace tessera::inline v0::ops {

/// Copies the bytes [from, to) of input 0 to output 0 unless they share memory.
void copy_part(const RoutineArgs& a, std::int64_t from, std::int64_t to);

/// Copies input 0 to output 0 unless they share memory.
Stage copy_stage(std::int64_t bytes);

/// A stage of one task.
inline Stage single_stage(std::function<void(const RoutineArgs&)> run) {
  return {1, [run = std::move(run)](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
            if (begin < end) run(args);
          }};
}

}  // namespace tessera::inline v0::ops
