#include "ops/list.h"

namespace tessera::inline v0 {

void register_all_ops(Registry& r) {
#define TESSERA_REGISTER_OP(name) ops::register_##name(r);
  TESSERA_OP_FILES(TESSERA_REGISTER_OP)
#undef TESSERA_REGISTER_OP
}

}  // namespace tessera::inline v0
