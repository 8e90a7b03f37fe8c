// The inner loops that most products need. They are compiled when the library is built.
#pragma once

#include "codegen/kernel/shared_code.h"

#include <vector>

namespace tessera::inline v0::codegen::matrix {

/// For the processor that host_isa() names: all tiles of float32, and the loops that pack it.
std::vector<SharedFunction> common_functions();

}  // namespace tessera::inline v0::codegen::matrix
