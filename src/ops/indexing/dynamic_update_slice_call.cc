// dynamic_update_slice as a routine that touches only the update's box if operand and result share
// memory.
#include "base/box_copy.h"
#include "ops/indexing/indexing.h"
#include "ops/stages.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> update_call(const CallArgs& a) {
  const Shape &x = a.inputs[0].shape, &update = a.inputs[1].shape;
  const std::int64_t e = size_of(a.inputs[0].dtype), bytes = a.inputs[1].bytes();
  if (bytes == 0) {
    auto nothing = std::make_shared<Routine>();
    nothing->name = a.op.name;
    nothing->in_place = {{0, 0}};
    nothing->stages.push_back(copy_stage(a.inputs[0].bytes()));
    return nothing;
  }
  const Shape from = byte_strides(update, e), to = byte_strides(x, e);
  struct Start {
    DType dtype;
    std::int64_t last, stride;
  };
  std::vector<Start> starts;
  for (int d = 0; d < x.rank(); ++d)
    starts.push_back({a.inputs[static_cast<std::size_t>(d) + 2].dtype, x[d] - update[d], to[d]});

  // Tasks divide the update along its first dimension whose extent is not 1.
  constexpr std::int64_t kChunk = 1 << 20;
  int cut = 0;
  for (int d = 1; d < x.rank(); ++d)
    if (update[cut] == 1) cut = d;
  const std::int64_t extent = x.rank() ? update[cut] : 1,
                     tasks = std::clamp<std::int64_t>(bytes / kChunk, 1, extent);
  std::vector<BoxCopy> boxes;
  std::vector<std::pair<std::int64_t, std::int64_t>> at;
  for (std::int64_t t = 0; t < tasks; ++t) {
    const std::int64_t first = extent * t / tasks, last = extent * (t + 1) / tasks;
    Shape part = update;
    if (x.rank()) part[cut] = last - first;
    boxes.emplace_back(part, from, to, e);
    at.emplace_back(x.rank() ? first * from[cut] : 0, x.rank() ? first * to[cut] : 0);
  }
  Stage write;
  write.tasks = tasks;
  write.run = [starts = std::move(starts), boxes = std::move(boxes), at = std::move(at)](
                  const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < starts.size(); ++d) {
      const Start& s = starts[d];
      if (s.last == 0) continue;
      const HostArray start(s.dtype, Shape{}, const_cast<void*>(args.inputs[d + 2]));
      place += std::clamp<std::int64_t>(read_index(start, 0), 0, s.last) * s.stride;
    }
    for (std::int64_t t = begin; t < end; ++t) {
      auto [read, write] = at[static_cast<std::size_t>(t)];
      boxes[static_cast<std::size_t>(t)].run(
          static_cast<const std::byte*>(args.inputs[1]) + read,
          static_cast<std::byte*>(args.outputs[0]) + place + write);
    }
  };
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 5e-8 + 2e-10 * static_cast<double>(bytes);
  routine->in_place = {{0, 0}};
  routine->stages = {copy_stage(a.inputs[0].bytes()), std::move(write)};
  return routine;
}

}  // namespace tessera::inline v0::ops
