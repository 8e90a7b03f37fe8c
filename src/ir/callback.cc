#include "ir/callback.h"

namespace tessera::inline v0 {

thread_local constinit bool InCallback::inside_ = false;

}  // namespace tessera::inline v0
