// The routine of a concatenation of many operands: copies each to its position.
#include "base/box_copy.h"
#include "ops/movement/movement.h"

#include <algorithm>

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> concatenate_call(const CallArgs& a) {
  const auto d = static_cast<std::size_t>(a.attrs.i("dimension"));
  const std::int64_t size = size_of(a.outputs[0].dtype);
  const Shape to = byte_strides(a.outputs[0].shape, size);
  struct Placed {
    BoxCopy box;
    std::int64_t at;
  };
  std::vector<Placed> pieces;
  std::vector<std::size_t> firsts{0};  // the first piece of each task
  std::int64_t at = 0, in_task = 0;
  constexpr std::int64_t kWorth = 1 << 18;  // bytes that are worth a task
  for (const Type& t : a.inputs) {
    if (in_task >= kWorth) firsts.push_back(pieces.size()), in_task = 0;
    in_task += t.bytes();
    pieces.push_back({BoxCopy(t.shape, byte_strides(t.shape, size), to, size), at});
    at += t.shape[d] * to[d];
  }
  firsts.push_back(pieces.size());
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds =
      5e-9 * static_cast<double>(pieces.size()) + 2e-10 * static_cast<double>(a.outputs[0].bytes());
  Stage s;
  s.tasks = static_cast<std::int64_t>(firsts.size()) - 1;
  s.run = [pieces = std::move(pieces), firsts = std::move(firsts)](
              const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    for (std::size_t k = firsts[static_cast<std::size_t>(begin)];
         k < firsts[static_cast<std::size_t>(end)]; ++k)
      pieces[k].box.run(static_cast<const std::byte*>(args.inputs[k]),
                        static_cast<std::byte*>(args.outputs[0]) + pieces[k].at);
  };
  routine->stages.push_back(std::move(s));
  return routine;
}

}  // namespace tessera::inline v0::ops
