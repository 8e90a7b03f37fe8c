// Many copies at once, in the order in which memory likes to be read and written.
#pragma once

#include "base/box_copy.h"

#include <span>

namespace tessera::inline v0::runtime {

/// `box` has to live until the copy is made; copies of one box may share it.
struct PlacedBox {
  const BoxCopy* box;
  BoxCopy::Way way;
};

/// Makes all the copies, which do not overlap in what they write. Boxes of one kind whose lines lie
/// side by side in what is read, or in what is written, are copied together, a line of each after
/// the other: columns of a matrix taken one at a time are read at half the speed of its rows.
/// `spread`: by all workers where that is worth it.
void copy_all(std::span<const PlacedBox> copies, bool spread = true);

}  // namespace tessera::inline v0::runtime
