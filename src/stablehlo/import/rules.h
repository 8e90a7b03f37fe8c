// The import rules of operations, by family; table.cc refers to them.
#pragma once

#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo::rules {

// values.cc
Values constant(Reading& r);
Values iota(Reading& r);
Values convert(Reading& r);
Values bitcast_convert(Reading& r);
Values reduce_precision(Reading& r);
Values power(Reading& r);
Values real_part(Reading& r);
Values imaginary_part(Reading& r);
Values compare(Reading& r);
Values select(Reading& r);
Values clamp(Reading& r);
Values pass(Reading& r);  // returns its operands
Values barrier(Reading& r);
Values nothing(Reading& r);  // returns only tokens
Values polygamma(Reading& r);
Values zeta(Reading& r);
Values bessel_i1e(Reading& r);
Values rng_bit_generator(Reading& r);
Values tangent(Reading& r);
Values square(Reading& r);
Values is_inf(Reading& r);
Values is_pos_inf(Reading& r);
Values is_neg_inf(Reading& r);
Values constant_like(Reading& r);
Values top_k(Reading& r);
Values dynamic_top_k(Reading& r);
Values dynamic_rng_bit_generator(Reading& r);
/// Applies our elementwise op with the operation's spelling.
Values by_spelling(Reading& r);

// narrow_bits.cc
Values population_count(Reading& r);
Values count_leading_zeros(Reading& r);
Values shift_right_logical(Reading& r);
Values shift_right_arithmetic(Reading& r);

// elementary.cc
/// The greater or the lesser of two elements; complex ones are ordered by real, then imaginary
/// part.
Value greatest_of(Value x, Value y);
Value least_of(Value x, Value y);
Values maximum(Reading& r);
Values minimum(Reading& r);
Values atan2(Reading& r);
Values cbrt(Reading& r);
Values sinh(Reading& r);
Values cosh(Reading& r);

// shapes.cc
Values broadcast_in_dim(Reading& r);
Values broadcast(Reading& r);
Values reshape(Reading& r);
Values transpose(Reading& r);
Values reverse(Reading& r);
Values concatenate(Reading& r);
Values slice(Reading& r);
Values real_dynamic_slice(Reading& r);
Values dynamic_slice(Reading& r);
Values dynamic_update_slice(Reading& r);
Values pad(Reading& r);
Values dynamic_pad(Reading& r);
Values get_dimension_size(Reading& r);

// control.cc
Values call(Reading& r);
Values composite(Reading& r);
Values custom_call(Reading& r);
Values shape_assertion(Reading& r);
Values while_loop(Reading& r);
Values if_else(Reading& r);
Values case_of(Reading& r);
Values get_tuple_element(Reading& r);
Values map(Reading& r);
Values async_start(Reading& r);
Values check_equal(Reading& r);
Values check_close(Reading& r);
Values check_almost_equal(Reading& r);

// host_calls.cc
/// Null unless it calls a function of Python.
Rule python_callback_rule(const std::string& target);

// other_calls.cc
Values approx_top_k(Reading& r);
Values dynamic_approx_top_k(Reading& r);
Values mhlo_operation(Reading& r);
Values threefry(Reading& r);
Values pivots_to_permutation(Reading& r);
Values empty(Reading& r);

// indexing.cc
Values gather(Reading& r);
Values scatter(Reading& r);
Values sort(Reading& r);

// reductions.cc
Values reduce(Reading& r);
Values reduce_window(Reading& r);
Values dynamic_reduce_window(Reading& r);
Values select_and_scatter(Reading& r);

// contractions.cc
Values dot(Reading& r);
Values dot_general(Reading& r);
Values convolution(Reading& r);

// linalg.cc
Values fft(Reading& r);
Values cholesky(Reading& r);
Values triangular_solve(Reading& r);
Values tridiagonal_solve_perturbed(Reading& r);
/// The import rule for a LAPACK call that JAX exports, by the name of its target; null if unknown.
Rule lapack_rule(std::string_view target);
/// The same for calls in the form that JAX 0.4 writes.
Rule older_lapack_rule(std::string_view target);

// sparse.cc
Values csr_times_dense(Reading& r);

// collectives.cc: collectives over the devices of a run_parallel
Values run_parallel(Reading& r);
Values divide(Reading& r);
Values remainder_of(Reading& r);
Values replica_id(Reading& r);
Values partition_id(Reading& r);
Values all_gather(Reading& r);
Values all_to_all(Reading& r);
Values collective_permute(Reading& r);
Values collective_broadcast(Reading& r);
Values collective_reduce(Reading& r);

// device_reductions.cc
Values all_reduce(Reading& r);
Values reduce_scatter(Reading& r);

// shardings.cc
Values sharding_constraint(Reading& r);
Values redistributed(Reading& r);  // a collective of Shardy
Values edge(Reading& r);
Values sharding_group(Reading& r);
Values named_computation(Reading& r);

// tile_shardings.cc, manual_computation.cc
Values tile_sharding(Reading& r);
Values manual_computation(Reading& r);

// batch_norm.cc
Values batch_norm_inference(Reading& r);
Values batch_norm_training(Reading& r);
Values batch_norm_grad(Reading& r);

// scan.cc
Values scan(Reading& r);

// ragged.cc
Values ragged_dot(Reading& r);

// legacy.cc: operations that newer versions have removed
Values einsum(Reading& r);
Values unary_einsum(Reading& r);
Values torch_index_select(Reading& r);
Values set_dimension_size(Reading& r);

// broadcasting.cc
/// Whether an operation is one of CHLO's broadcasting operations; `broadcasting` imports them.
bool broadcasts(std::string_view name);
Values broadcasting(Reading& r);

// own_composites.cc
/// Imports a composite of our emitter as the original op; nothing if it is none, or malformed.
std::optional<Values> own_composite(Reading& r);

/// The StableHLO operation that a region applies to its two arguments, in either order; empty if
/// the region does anything else.
std::string_view applied(const RegionSyntax& region);
/// Whether a region returns its argument number k.
bool gives_argument(const RegionSyntax& region, std::size_t k);

}  // namespace tessera::inline v0::stablehlo::rules
