#include "codegen/tape/slots.h"

#include <cstring>

namespace tessera::inline v0::tape {

int SlotTable::slot(Space space, Mask mask, std::int64_t bytes, DType dtype) {
  Slot s;
  s.space = space;
  s.mask = mask;
  s.bytes = bytes;
  s.dtype = dtype;
  std::int64_t stride = 1;
  for (std::size_t a = ctx_.axes.size(); a-- > 0;)
    if (mask >> a & 1) {
      s.instance.push_back({static_cast<int>(a), stride});
      stride *= ctx_.axes[a].size;
    }
  if (space == Space::argument || space == Space::result) {
    s.offset = draft_.tape->table;
    draft_.tape->table += stride;
  }
  draft_.tape->slots.push_back(s);
  draft_.producer.push_back(-1);
  return static_cast<int>(draft_.tape->slots.size()) - 1;
}

Ref SlotTable::constant(Mask mask, const Type& type, const void* bytes) {
  int s = slot(Space::constant, mask, type.bytes(), type.dtype);
  auto& all = draft_.tape->constants;
  at(s).offset = static_cast<std::int64_t>((all.size() + 63) / 64 * 64);
  std::size_t n = static_cast<std::size_t>(type.bytes() * ctx_.instances(mask));
  all.resize(static_cast<std::size_t>(at(s).offset) + n);
  if (n) std::memcpy(all.data() + at(s).offset, bytes, n);
  return Ref{s};
}

Ref SlotTable::argument(Argument a, Mask mask, std::int64_t bytes, DType dtype) {
  a.slot = slot(Space::argument, mask, bytes, dtype);
  draft_.tape->arguments.push_back(std::move(a));
  return Ref{draft_.tape->arguments.back().slot};
}

Ref SlotTable::over(const Ref& operand, const Type& type) {
  Slot s = at(operand.slot);
  s.over = operand.slot;
  s.overwritten = false;
  s.same = 0;
  s.dtype = type.dtype;
  at(operand.slot).overwritten = true;
  draft_.tape->slots.push_back(s);
  draft_.producer.push_back(-1);
  return Ref{static_cast<int>(draft_.tape->slots.size()) - 1};
}

Ref SlotTable::numbers_along(const std::vector<int>& axes) {
  Mask own = 0;
  for (int a : axes) own |= Mask{1} << a;
  // Instances are numbered over ascending axes, the index over the axes as listed.
  std::int64_t n = ctx_.instances(own);
  std::vector<std::int32_t> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i;
    std::map<int, std::int64_t> c;
    for (std::size_t a = ctx_.axes.size(); a-- > 0;)
      if (own >> a & 1) {
        c[static_cast<int>(a)] = rest % ctx_.axes[a].size;
        rest /= ctx_.axes[a].size;
      }
    std::int64_t index = 0;
    for (int a : axes) index = index * ctx_.axes[static_cast<std::size_t>(a)].size + c[a];
    values[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(index);
  }
  return constant(own, Type(DType::int32, {}), values.data());
}

}  // namespace tessera::inline v0::tape
