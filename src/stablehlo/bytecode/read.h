// Portable artifacts: StableHLO in MLIR's bytecode, in its versioned form (VHLO), as `jax.export`
// writes it.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// Whether a file begins like one of bytecode.
bool is_bytecode(std::string_view bytes);

/// The module of a file of bytecode of versions 0 to 6 that holds VHLO of StableHLO 0.9 to 1.22.
/// IoError with the byte at which something is wrong; any bytes end in a module or an error. Time and
/// memory are proportional to the file.
ModuleSyntax read_bytecode(const Source& file);

}  // namespace tessera::inline v0::stablehlo
