// Reads portable artifacts: StableHLO in its versioned form (VHLO) in MLIR's bytecode, as
// `jax.export` writes it.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// Whether a file begins with the magic number of bytecode.
bool is_bytecode(std::string_view bytes);

/// The module in a bytecode file of versions 0 to 6 that holds VHLO of StableHLO 0.9 to 1.22.
/// Throws IoError with the byte of the problem; any input gives a module or an error. Time and
/// memory are proportional to the size of the file.
ModuleSyntax read_bytecode(const Source& file);

}  // namespace tessera::inline v0::stablehlo
