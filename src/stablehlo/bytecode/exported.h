// What Python's `jax.export.export(f)(...).serialize()` writes: a FlatBuffer around a portable artifact.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// Whether a file looks like one, by its first table.
bool is_exported(std::string_view bytes);

/// The module inside. Arguments that the function did not use, which JAX leaves out of the module,
/// are arguments of the module's @main again, so that it is called as in Python. IoError with the
/// byte at which something is wrong.
ModuleSyntax read_exported(const Source& file);

}  // namespace tessera::inline v0::stablehlo
