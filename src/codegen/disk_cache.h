// Object files of kernels on disk, shared by processes and runs.
//
// Directory: $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera;
// TESSERA_CACHE=off disables it. A file is used only when it belongs to this user, is whole, and
// was written for the same kernel by the same library, LLVM and processor. Nothing here throws: a
// cache that does not work is no cache.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tessera::inline v0::codegen {

/// Names a kernel for this library, LLVM and processor: 32 hexadecimal digits.
std::string cache_id(const std::string& key);
std::optional<std::string> read_cached(const std::string& id, const std::string& key);
void write_cached(const std::string& id, const std::string& key, const std::string& object);

/// The directory in use; empty where the cache is off.
std::string cache_directory();
/// Removes the files that were used longest ago until at most `bytes` remain. `write_cached` calls
/// it now and then with TESSERA_CACHE_MB (default 256) megabytes.
void trim_cache(std::size_t bytes);

}  // namespace tessera::inline v0::codegen
