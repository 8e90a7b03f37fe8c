// Link-time stand-ins for builders of ops whose files are on their way; weak, so that the real ones win.
#include "ops/build.h"

namespace tessera::inline v0::ops {
#define TESSERA_PENDING(name, ...) \
  __attribute__((weak)) Value name(__VA_ARGS__) { throw InternalError(#name " is not there yet"); }
TESSERA_PENDING(select, Value, Value, Value)
TESSERA_PENDING(reduce_sum, Value, const Ints&)
TESSERA_PENDING(reduce_or, Value, const Ints&)
TESSERA_PENDING(reduce_and, Value, const Ints&)
TESSERA_PENDING(reduce_max, Value, const Ints&)
TESSERA_PENDING(reduce_min, Value, const Ints&)
TESSERA_PENDING(mul, Value, Value)
TESSERA_PENDING(add, Value, Value)
TESSERA_PENDING(div, Value, Value)
TESSERA_PENDING(eq, Value, Value)
TESSERA_PENDING(dynamic_slice, Value, std::span<const Value>, const Ints&)
TESSERA_PENDING(gather, Value, Value, const GatherDims&, const Ints&, const std::string&)
}  // namespace tessera::inline v0::ops
