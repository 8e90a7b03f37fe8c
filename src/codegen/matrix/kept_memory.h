// Memory that a thread keeps between products, for packed operands and sums. It stays in the
// thread's caches.
#pragma once

#include <cstddef>

namespace tessera::inline v0::codegen::matrix {

/// At least `bytes` bytes, aligned to a page. Each `which` has separate memory, whose contents are
/// lost when a larger size is requested.
inline constexpr int kKeptMemories = 5;
char* kept_memory(std::size_t bytes, int which);

}  // namespace tessera::inline v0::codegen::matrix
