// The inner loops that most products need. They are compiled when the library is built.
#pragma once

#include "codegen/kernel/shared_code.h"

#include <vector>

namespace tessera::inline v0::codegen::matrix {

/// All tiles of float32 for the processor of host_isa(), and the loops that pack float32.
std::vector<SharedFunction> common_functions();

}  // namespace tessera::inline v0::codegen::matrix
