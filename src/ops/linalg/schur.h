// The Schur form of square matrices.
#pragma once

#include "ir/routine.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// (t, z) with A = Z T Z^H; no attributes.
Values schur(Value a);
/// The routine; codegen/calls/factorisations.cc.
std::shared_ptr<const Routine> schur_call(const CallArgs& a);

}  // namespace tessera::inline v0::ops
