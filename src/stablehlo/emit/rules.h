// The emission rules of ops, by family; table.cc refers to them.
#pragma once

#include "stablehlo/emit/emission.h"

namespace tessera::inline v0::stablehlo::write {

// elementwise.cc
Names spelled(Writing& w);  // by the op's own spelling
Names compare(Writing& w);
Names select(Writing& w);
Names clamp(Writing& w);
Names convert(Writing& w);
Names reduce_precision(Writing& w);
Names polygamma(Writing& w);
Names sign_of_unsigned(Writing& w);
Names parts_are_finite(Writing& w);
Names identity(Writing& w);
Names barrier(Writing& w);

// by_elements.cc: elementwise ops, composed from simpler ones per element
Names by_elements(Writing& w);

// movement.cc
Names constant(Writing& w);
Names iota(Writing& w);
Names broadcast_in_dim(Writing& w);
Names reshape(Writing& w);
Names bitcast_convert(Writing& w);
Names transpose(Writing& w);
Names reverse(Writing& w);
Names concatenate(Writing& w);
Names slice(Writing& w);
Names pad(Writing& w);
Names dynamic_slice(Writing& w);
Names dynamic_update_slice(Writing& w);

// linalg.cc
Names fft(Writing& w);
Names cholesky(Writing& w);
Names triangular_solve(Writing& w);
Names library_call(Writing& w);  // by the target's library

// lapack.cc, solver.cc, xla_calls.cc: the libraries (target.cc)
Names lapack_lu(Writing& w);
Names lapack_qr(Writing& w);
Names lapack_svd(Writing& w);
Names lapack_eigh(Writing& w);
Names lapack_eig(Writing& w);
Names lapack_schur(Writing& w);
Names solver_lu(Writing& w);
Names solver_qr(Writing& w);
Names solver_svd(Writing& w);
Names solver_eigh(Writing& w);
Names solver_eig(Writing& w);
Names xla_lu(Writing& w);
Names xla_qr(Writing& w);
Names xla_eigh(Writing& w);

// indexing.cc
Names gather(Writing& w);
Names scatter(Writing& w);
Names combine_at(Writing& w);

// sorts.cc
Names sort(Writing& w);
Names sort_ends(Writing& w);
Names order_by(Writing& w);
Names top_k(Writing& w);

// reductions.cc
Names reduce_monoid(Writing& w);
Names reduce(Writing& w);
Names window_sum(Writing& w);
Names window_max(Writing& w);
Names window_min(Writing& w);
Names reduce_window(Writing& w);
Names select_and_scatter_add(Writing& w);

// contractions.cc
Names dot_general(Writing& w);
Names convolution(Writing& w);

// control.cc
Names cond(Writing& w);
Names while_loop(Writing& w);
Names scan(Writing& w);

// devices.cc
Names shard_map(Writing& w);
Names sharding_constraint(Writing& w);
Names all_reduce(Writing& w);
Names all_gather(Writing& w);
Names reduce_scatter(Writing& w);
Names all_to_all(Writing& w);
Names permute(Writing& w);
Names collective_broadcast(Writing& w);
Names axis_index(Writing& w);

// compositions.cc: compositions of other ops
Names exp2(Writing& w);
Names arg_max(Writing& w);
Names arg_min(Writing& w);
Names running(Writing& w);  // cumsum and similar ops
Names select_and_gather_add(Writing& w);
Names masked_gather(Writing& w);
Names clipped_scatter(Writing& w);
Names flagged_reduce(Writing& w);
Names flagged_window(Writing& w);
Names flagged_select_and_scatter(Writing& w);

}  // namespace tessera::inline v0::stablehlo::write
