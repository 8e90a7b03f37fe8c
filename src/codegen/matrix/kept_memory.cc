#include "codegen/matrix/kept_memory.h"

#include "base/thread_kept.h"

#include <cstdlib>
#include <memory>
#include <new>

namespace tessera::inline v0::codegen::matrix {

char* kept_memory(std::size_t bytes, int which) {
  constexpr std::size_t kPage = 4096;
  struct Memory {
    std::unique_ptr<char, void (*)(void*)> memory{nullptr, std::free};
    std::size_t bytes = 0;
  };
  thread_local const ThreadKept<Memory> kept[kKeptMemories];
  Memory& m = *kept[which];
  if (m.bytes < bytes) {
    m.bytes = (bytes + kPage - 1) / kPage * kPage;
    m.memory.reset(static_cast<char*>(std::aligned_alloc(kPage, m.bytes)));
    if (!m.memory) throw std::bad_alloc();
  }
  return m.memory.get();
}

}  // namespace tessera::inline v0::codegen::matrix
