// Reflections H = 1 - tau v v^H as LAPACK stores them: v in a column, below its leading one, which
// is implicit. Written as loops over the columns, so derivatives and batching come for free.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// The first columns of H_1 H_2 ... H_k, as many as `packed` (..., m, n) has. v_i is in column i of
/// `packed` below row i, and tau_i is taus(..., i). Requires k <= n <= m.
Value householder_product(Value packed, Value taus);
/// H_1 H_2 ... H_k x, or the adjoint of the product times x if `adjoint`. x has as many rows as
/// `packed`.
Value times_reflections(Value packed, Value taus, Value x, bool adjoint);

/// The QR factorisation of an m by n matrix A: the triangular factor, with the vectors of Q's
/// reflections below its diagonal, and min(m, n) taus. If `pivoted`, it factorises A with its
/// columns permuted to `columns` (int32, from 0). Each step takes the remaining column that is
/// longest below the finished rows, the first of equal ones. Columns marked in `first` (..., n),
/// booleans, come before all others and keep their order, by exchanges from left to right as in
/// LAPACK.
struct PackedQr {
  Value packed, taus, columns;
};
PackedQr packed_qr(Value a, bool pivoted, MaybeValue first = {});

/// Q^H A Q for a square matrix: upper Hessenberg. The vectors of Q's reflections are stored below
/// the first subdiagonal; that of column i begins in row i + 1. There are n - 1 taus.
struct PackedHessenberg {
  Value packed, taus;
};
PackedHessenberg packed_hessenberg(Value a);

/// H and Q of A = Q H Q^H, with explicit zeros below H's first subdiagonal.
Values hessenberg(Value a);

}  // namespace tessera::inline v0::ops
