// The common forms of Op::updates.
#pragma once

#include "ir/op.h"

#include <utility>

namespace tessera::inline v0::ops {

/// The result is an update of every operand: sums and selections.
inline UpdateRule updates_all() {
  return [](const UpdateArgs& a) {
    std::vector<std::size_t> all(a.same.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  };
}
/// The result is an update of these operands, whatever the others are.
inline UpdateRule updates_of(std::vector<std::size_t> operands) {
  return [operands = std::move(operands)](const UpdateArgs&) { return operands; };
}

}  // namespace tessera::inline v0::ops
