// What is kept for reuse: programs that were traced and compiled.
//
// Each kind of arguments of a jitted or mapped function, and each operation on arrays of a new
// shape, is compiled once and kept. Together they take at most cache_limit() bytes: beyond that,
// what was used longest ago goes, and is traced and compiled again when it is asked for. What a
// program under way needs lives until it has ended. Machine code is kept on disk too
// (TESSERA_CACHE_DIR), so compiling again is mostly reading.
//
// All functions here may be called from any thread, while others trace, compile and compute.
#pragma once

#include <tessera/config.h>

#include <cstdint>
#include <source_location>

namespace tessera::inline v0 {

/// Lets go of all of it, of the arrays that jitted functions captured, too. Objects that the
/// program holds keep what they need: `Compiled`, `Lowered`.
TESSERA_API void clear_caches();

/// Bytes, estimated; TESSERA_PROGRAM_CACHE_MB in the environment, or 512 MB.
TESSERA_API std::int64_t cache_limit();
/// What is beyond it goes at once. 0 keeps nothing that is not in use. Error for a negative one.
TESSERA_API void set_cache_limit(std::int64_t bytes,
                                 std::source_location loc = std::source_location::current());

struct CacheStats {
  std::int64_t bytes = 0;    // estimated
  std::int64_t entries = 0;  // traced functions and compiled programs
  std::int64_t evicted = 0;  // entries that went because of the limit, since the process began
};
TESSERA_API CacheStats cache_stats();

}  // namespace tessera::inline v0
