// A cache of kernels' object files on disk, shared by processes and runs.
//
// The directory is $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera;
// TESSERA_CACHE=off disables the cache. A file is used only if it belongs to this user, is
// complete, and was written for the same kernel by the same library, LLVM and processor. Kernels
// are named ab/ab<30 more hexadecimal digits>.tsk; other files in the directory are neither read
// nor removed, and links are not followed. A cache that does not work is ignored: the functions
// throw only the Error for an invalid setting.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tessera::inline v0::codegen {

/// The id of a kernel for this library, LLVM and processor: 32 hexadecimal digits.
std::string cache_id(const std::string& key);
std::optional<std::string> read_cached(const std::string& id, const std::string& key);
void write_cached(const std::string& id, const std::string& key, const std::string& object);

/// The directory in use; empty if the cache is off.
std::string cache_directory();
/// Removes the least recently used kernels until at most `bytes` remain, and the temporary files of
/// killed writers.
///
/// `write_cached` keeps the cache within TESSERA_CACHE_MB (default 256) megabytes. A process that
/// writes alone never exceeds the limit after its first trim. If several processes write, each may
/// have added up to an eighth of the limit since it last checked the size.
void trim_cache(std::size_t bytes);

}  // namespace tessera::inline v0::codegen
