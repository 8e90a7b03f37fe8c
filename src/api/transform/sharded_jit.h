// jit with shardings.
#pragma once

#include <tessera/jit.h>

#include <memory>
#include <string>

namespace tessera::inline v0::detail {

/// Whether the options ask for anything of a mesh.
bool is_sharded(const JitOptions& options);
/// `what` heads errors.
std::shared_ptr<CachedFunction> make_sharded_jit_cache(const char* what, std::string name,
                                                       const JitOptions& options,
                                                       std::source_location loc);

}  // namespace tessera::inline v0::detail
