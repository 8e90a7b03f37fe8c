// The routines of linear algebra. Defined in codegen/calls/factorisations.cc, the only place that
// knows the library.
#pragma once

#include "ir/routine.h"

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> cholesky_call(const CallArgs& a);
std::shared_ptr<const Routine> triangular_solve_call(const CallArgs& a);
std::shared_ptr<const Routine> lu_call(const CallArgs& a);
std::shared_ptr<const Routine> qr_call(const CallArgs& a);
std::shared_ptr<const Routine> svd_call(const CallArgs& a);
std::shared_ptr<const Routine> eigh_call(const CallArgs& a);
std::shared_ptr<const Routine> eig_call(const CallArgs& a);

}  // namespace tessera::inline v0::ops
