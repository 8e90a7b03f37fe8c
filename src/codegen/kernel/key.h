// The identity of a kernel, and its form that leaves out what the machine code does not depend on.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <string>

namespace tessera::inline v0::codegen {

/// Bytes that are equal for two programs exactly when their machine code is: wiring, ops,
/// attributes, dtypes and shapes.
std::string kernel_key(const Program& p);

/// An elementwise program over arrays of one size is compiled for any length. `length` is 0 where
/// the program is of another kind; then `program` is the given one.
struct Canonical {
  ProgramPtr program;
  std::int64_t length = 0;
};
Canonical canonical_kernel(const ProgramPtr& p);

}  // namespace tessera::inline v0::codegen
