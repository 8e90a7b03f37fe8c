#include "ops/stages.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::ops {

void copy_part(const RoutineArgs& a, std::int64_t from, std::int64_t to) {
  if (a.inputs[0] == a.outputs[0] || from >= to) return;
  std::memcpy(static_cast<char*>(a.outputs[0]) + from, static_cast<const char*>(a.inputs[0]) + from,
              static_cast<std::size_t>(to - from));
}

Stage copy_stage(std::int64_t bytes) {
  constexpr std::int64_t kChunk = 1 << 20;
  Stage s;
  s.tasks = (bytes + kChunk - 1) / kChunk;
  s.run = [bytes](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
    copy_part(a, begin * kChunk, std::min(bytes, end * kChunk));
  };
  return s;
}

}  // namespace tessera::inline v0::ops
