// The mesh of specs that name none. The trace of a function may depend on it.
#pragma once

#include <tessera/mesh.h>

namespace tessera::inline v0::detail {

/// The mesh of this thread's innermost scope (use_mesh); empty outside scopes. Caches of traced
/// functions include it in their keys.
const Mesh& scope_mesh();

}  // namespace tessera::inline v0::detail
