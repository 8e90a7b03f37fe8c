// Kernels that read only a contiguous stretch of an operand, such as one layer's rows of an array
// that stacks the parameters of all layers.
#pragma once

#include "codegen/fuse/fuse.h"

#include <vector>

namespace tessera::inline v0::codegen {

/// Makes slices of a kernel's operands its operands, if the slice is contiguous in memory and the
/// kernel does not read the rest of the operand. The location of a stretch is not part of the
/// machine code, so kernels that do the same for each row of an array are compiled once. This is a
/// pass: with it off (transform/pass.h), kernels read whole operands.
void read_stretches(const Program& p, std::vector<Cluster>& clusters);

}  // namespace tessera::inline v0::codegen
