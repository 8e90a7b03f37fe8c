// Shared by the block functions of random bits: philox4x32 and threefry2x32.
#pragma once

#include "ir/op.h"

#include <string>

namespace tessera::inline v0::ops {

/// An op of `inputs` operands and `outputs` results, all uint32 and of one shape: everything but
/// its cost, its evaluator and its kernel. `advice` tells the user how to come by uint32 operands.
Op block_op(std::string name, std::string doc, int inputs, int outputs, std::string advice);

}  // namespace tessera::inline v0::ops
