// The memory that a tape's steps read and write, recorded while the tape is planned.
#pragma once

#include "codegen/tape/context.h"

#include <map>
#include <vector>

namespace tessera::inline v0::tape {

class SlotTable {
 public:
  SlotTable(TapeContext& ctx, DraftTape& draft) : ctx_(ctx), draft_(draft) {}

  int slot(Space space, Mask mask, std::int64_t bytes, DType dtype = DType::uint8);
  Slot& at(int s) { return draft_.tape->slots[static_cast<std::size_t>(s)]; }
  Mask varies(const Ref& r) const { return draft_.tape->varies(r); }
  /// `bytes` holds all instances, one after the other.
  Ref constant(Mask mask, const Type& type, const void* bytes);
  Ref argument(Argument a, Mask mask, std::int64_t bytes, DType dtype);
  /// A new value that is written into the memory of `operand`.
  Ref over(const Ref& operand, const Type& type);
  /// A constant that numbers the instances along `axes`, row-major in the given order.
  Ref numbers_along(const std::vector<int>& axes);

 protected:
  TapeContext& ctx_;
  DraftTape& draft_;
};

}  // namespace tessera::inline v0::tape
