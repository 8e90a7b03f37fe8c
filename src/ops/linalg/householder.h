// Reflections H = 1 - tau v v^H as LAPACK stores them: v in a column, below its leading one, which is
// left out. Written as loops over the columns, so that derivatives and batches come of themselves.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// The first columns of H_1 H_2 ... H_k, as many as `packed` (..., m, n) has; v_i is in its column i
/// below row i, tau_i is taus(..., i). k is at most n, n at most m.
Value householder_product(Value packed, Value taus);

/// Q^H A Q of a square matrix with a zero below the first diagonal under the main one: there stand the
/// vectors of Q's reflections, of which that of column i begins in row i + 1. And their taus, one less
/// than rows.
struct PackedHessenberg {
  Value packed, taus;
};
PackedHessenberg packed_hessenberg(Value a);

/// H and Q of A = Q H Q^H, H with zeros there.
Values hessenberg(Value a);

}  // namespace tessera::inline v0::ops
