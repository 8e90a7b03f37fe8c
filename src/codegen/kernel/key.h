// The cache key of a kernel, and its canonical form without details that the machine code ignores.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <string>

namespace tessera::inline v0::codegen {

/// A key that is equal for two programs exactly if their machine code is: it contains wiring, ops,
/// attributes, dtypes and shapes.
std::string kernel_key(const Program& p);

/// An elementwise program over arrays of one size is compiled for any length. For other programs
/// `length` is 0 and `program` is the given one.
struct Canonical {
  ProgramPtr program;
  std::int64_t length = 0;
};
Canonical canonical_kernel(const ProgramPtr& p);

}  // namespace tessera::inline v0::codegen
