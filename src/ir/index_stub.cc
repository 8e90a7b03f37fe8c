// Link-time stand-ins for the index arithmetic of src/codegen, weak so that the real ones win.
#include "ir/emit.h"
#include "base/message.h"

namespace tessera::inline v0 {
#define TESSERA_STUB __attribute__((weak))
TESSERA_STUB Index::Index(std::int64_t) { throw InternalError("no code generator"); }
TESSERA_STUB Index operator+(const Index&, const Index&) { throw InternalError("no code generator"); }
TESSERA_STUB Index operator-(const Index&, const Index&) { throw InternalError("no code generator"); }
TESSERA_STUB Index operator*(const Index&, std::int64_t) { throw InternalError("no code generator"); }
TESSERA_STUB Index floor_div(const Index&, std::int64_t) { throw InternalError("no code generator"); }
TESSERA_STUB Index floor_mod(const Index&, std::int64_t) { throw InternalError("no code generator"); }
}  // namespace tessera::inline v0
