// Many copies at once, in the order that suits memory best.
#pragma once

#include "base/box_copy.h"

#include <span>

namespace tessera::inline v0::runtime {

/// `box` must live until the copy is made; copies of one box may share it.
struct PlacedBox {
  const BoxCopy* box;
  BoxCopy::Way way;
};

/// Makes all copies; their destinations must not overlap. Copies of equal boxes whose lines are
/// adjacent in the source or in the destination are interleaved line by line, because reading the
/// columns of a matrix one at a time is half as fast as reading its rows. `spread`: use all workers
/// if it pays off.
void copy_all(std::span<const PlacedBox> copies, bool spread = true);

}  // namespace tessera::inline v0::runtime
