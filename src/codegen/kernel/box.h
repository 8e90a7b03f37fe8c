// The arguments of a call of Emitter::reduce. Private to the kernel emitter.
#pragma once

#include "codegen/kernel/scopes.h"

namespace tessera::inline v0::codegen {

struct KernelEmitter::Box {
  ReduceShape shape;
  std::span<const std::int64_t> extents;
  Lane init;
  const std::function<Lane(std::span<const Index>)>& element;
  const std::function<Lane(Lane, Lane)>& combine;
  bool unrolled;
};

}  // namespace tessera::inline v0::codegen
