// Operands of which a kernel reads a stretch that lies in one piece, such as a layer's rows of the
// parameters of all layers.
#pragma once

#include "codegen/fuse/fuse.h"

#include <vector>

namespace tessera::inline v0::codegen {

/// Makes slices of a kernel's operands operands of their own, where a slice is one stretch of
/// memory and nothing else in the kernel reads the operand. What a kernel reads where is no part of
/// its machine code, so that those which do the same to each row of `p`'s arrays are compiled once.
/// A pass: without it (transform/pass.h) kernels read whole operands.
void read_stretches(const Program& p, std::vector<Cluster>& clusters);

}  // namespace tessera::inline v0::codegen
