// Reflections H = 1 - tau v v^H as LAPACK stores them: v in a column, below its leading one, which is
// left out. Written as loops over the columns, so that derivatives and batches come of themselves.
#pragma once

#include "ops/build.h"

namespace tessera::inline v0::ops {

/// The first columns of H_1 H_2 ... H_k, as many as `packed` (..., m, n) has; v_i is in its column i
/// below row i, tau_i is taus(..., i). k is at most n, n at most m.
Value householder_product(Value packed, Value taus);
/// H_1 H_2 ... H_k x, or where `adjoint` its adjoint times x: x has as many rows as `packed`.
Value times_reflections(Value packed, Value taus, Value x, bool adjoint);

/// A of m rows and n columns as its triangular factor, below whose diagonal stand the vectors of Q's
/// reflections; their taus, as many as the smaller of m and n. Where it is `pivoted` these are of A's
/// columns in the order `columns` (int32, from 0): at each step the one of those left that is the
/// longest below what is done, of equal ones the first. Columns that `first` (..., n), booleans, marks
/// come before all others, by exchanges from left to right as LAPACK makes them, and keep their order.
struct PackedQr {
  Value packed, taus, columns;
};
PackedQr packed_qr(Value a, bool pivoted, MaybeValue first = {});

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
