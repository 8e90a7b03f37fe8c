// Object files of kernels on disk, shared by processes and runs.
//
// Directory: $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera;
// TESSERA_CACHE=off disables it. A file is used only when it belongs to this user, is whole, and
// was written for the same kernel by the same library, LLVM and processor. Kernels are called
// ab/ab<30 more hexadecimal digits>.tsk; whatever else is in the directory is neither read nor
// removed, and links are not followed. A cache that does not work is no cache: nothing here throws,
// but for the Error of a setting that is no such thing.
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
/// Removes the kernels that were used longest ago until at most `bytes` remain, and what writers
/// that were killed have left.
///
/// `write_cached` sees to it that TESSERA_CACHE_MB (default 256) megabytes are enough. A process that
/// writes alone never leaves more, once it has looked; of several, each may have written an eighth of
/// the limit since it looked last.
void trim_cache(std::size_t bytes);

}  // namespace tessera::inline v0::codegen
