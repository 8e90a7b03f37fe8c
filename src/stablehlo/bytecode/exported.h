// Reads the FlatBuffer that Python's `jax.export.export(f)(...).serialize()` writes around a
// portable artifact.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// Whether a file looks like such a FlatBuffer, judging by its first table.
bool is_exported(std::string_view bytes);

/// The module inside. JAX drops unused arguments from the module; here they become arguments of the
/// module's @main again, so that it is called as in Python. Throws IoError with the byte of the
/// problem.
ModuleSyntax read_exported(const Source& file);

}  // namespace tessera::inline v0::stablehlo
