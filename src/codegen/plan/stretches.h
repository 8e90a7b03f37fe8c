// Operands of which a kernel reads a stretch that lies in one piece, such as a layer's rows of the
// parameters of all layers.
#pragma once

#include "codegen/fuse/fuse.h"

#include <vector>

namespace tessera::inline v0::tapes {

/// What a kernel reads: `type` beginning `offset` bytes into the value of `var`.
struct Stretch {
  Var var = 0;
  std::int64_t offset = 0;
  Type type;
};

struct StretchedKernel {
  ProgramPtr program;
  std::vector<Stretch> inputs;  // those of the program
};

/// The kernel of a cluster with its slices of operands as operands of their own, where a slice is
/// one stretch of memory and nothing else in the kernel reads the operand. What such kernels read
/// where is no part of their machine code, so that those which do the same to each row are compiled
/// once.
StretchedKernel stretched_kernel(const codegen::Cluster& cluster);

}  // namespace tessera::inline v0::tapes
