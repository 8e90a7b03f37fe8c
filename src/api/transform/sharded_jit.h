// jit with shardings.
#pragma once

#include <tessera/jit.h>

#include "ir/mesh.h"
#include "spmd/place/links.h"

#include <map>
#include <memory>
#include <string>

namespace tessera::inline v0::detail {

/// Whether any of the options refers to a mesh.
bool is_sharded(const JitOptions& options);
/// `what` heads errors.
std::shared_ptr<CachedFunction> make_sharded_jit_cache(const char* what, std::string name,
                                                       const JitOptions& options,
                                                       std::source_location loc);

/// Link speeds by axis of the mesh, if any are given; throws ShardingError if one is invalid.
spmd::Links links_along(const char* what, const DeviceMesh& mesh,
                        const std::map<std::string, LinkSpeed>& speeds, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
