#include "ops/list.h"

namespace tessera::inline v0 {

void register_all_ops(Registry& r) {
#define TESSERA_OP(name) ops::register_##name(r);
#include "ops/list.inc"
#undef TESSERA_OP
}

}  // namespace tessera::inline v0
