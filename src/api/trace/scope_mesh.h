// The mesh of specs that come without one: what a function is traced to may depend on it.
#pragma once

#include <tessera/mesh.h>

namespace tessera::inline v0::detail {

/// Of this thread; empty outside of scopes (use_mesh). Every traced function is kept under the mesh
/// of its scope.
const Mesh& scope_mesh();

}  // namespace tessera::inline v0::detail
