// Tables of the functions that were compiled when the library was built, one for each level of
// processors. codegen/ahead writes them, sorted by key, into the object files of their functions.
#pragma once

#include <cstdint>

namespace tessera::inline v0::codegen {

struct BuiltFunction {
  const char* key;
  void* address;
};
struct BuiltTable {
  const BuiltFunction* functions;
  std::int64_t count;
};

extern "C" {
extern const BuiltTable tessera_built_sse4, tessera_built_avx2, tessera_built_avx512;
}

}  // namespace tessera::inline v0::codegen
