// The cache of traced and compiled programs.
//
// Each signature of a jitted or mapped function, and each operation on arrays of a new shape, is
// compiled once and cached. The cache holds at most cache_limit() bytes: beyond that, the least
// recently used entries are evicted, and are traced and compiled again when needed. The entries
// that a running program needs stay alive until it has ended. Machine code is also cached on disk
// (TESSERA_CACHE_DIR), so compiling again mostly means reading it.
//
// All functions here may be called from any thread while others trace, compile and compute.
#pragma once

#include <tessera/config.h>

#include <cstdint>
#include <source_location>

namespace tessera::inline v0 {

/// Empties the cache, which also releases arrays captured by jitted functions, and drops packed
/// operands. `Compiled` and `Lowered` objects keep what they need.
TESSERA_API void clear_caches();

/// The limit in (estimated) bytes: TESSERA_PROGRAM_CACHE_MB from the environment, or 512 MB.
TESSERA_API std::int64_t cache_limit();
/// Entries beyond the new limit are evicted at once; 0 keeps only what is in use. Throws Error for
/// a negative limit.
TESSERA_API void set_cache_limit(std::int64_t bytes,
                                 std::source_location loc = std::source_location::current());

/// How full the cache is.
struct CacheStats {
  std::int64_t bytes = 0;    // estimated
  std::int64_t entries = 0;  // traced functions and compiled programs
  std::int64_t evicted = 0;  // entries evicted because of the limit, since the process began
};
/// Returns the current figures of the cache. It may be called from any thread.
TESSERA_API CacheStats cache_stats();

/// The limit in bytes of the cache of packed operands. Matrix products and convolutions pack their
/// weights: they copy them into the order in which the inner loops read them. From the second call
/// that reads the same array on, the packed copy is cached until the array is destroyed, donated or
/// overwritten. The initial limit is TESSERA_OPERAND_CACHE_MB from the environment, or a quarter of
/// memory_limit(). Beyond the limit, the least recently used copies are dropped, and calls pack the
/// operand again. The results of calls do not depend on the limit.
TESSERA_API std::int64_t operand_cache_limit();
/// Drops packed operands beyond the new limit at once; with 0, none are kept. Throws Error for a
/// negative limit.
TESSERA_API void set_operand_cache_limit(
    std::int64_t bytes, std::source_location loc = std::source_location::current());

/// The cache of packed operands. physical_memory_stats() counts their memory; memory_stats() does
/// not, because it belongs to no array.
struct OperandCacheStats {
  std::int64_t bytes = 0;     // of all packed operands
  std::int64_t operands = 0;  // how many there are
  std::int64_t evicted = 0;   // dropped because of the limit, since the process began
};
/// Returns the current figures of packed operands. It may be called from any thread.
TESSERA_API OperandCacheStats operand_cache_stats();

}  // namespace tessera::inline v0
