// Shared by ops that work on the last dimensions and treat the dimensions before them as a batch.
#pragma once

#include "ir/op.h"
#include "ops/build.h"

#include <functional>
#include <string>

namespace tessera::inline v0::ops {

/// The number of matrices (or vectors) in an operand; each is made of the last `trailing`
/// dimensions.
std::int64_t count_before(const Shape& shape, int trailing);

/// The batch rule: stacks all operands and results along dimension 0.
BatchResult batch_before(const BatchArgs& a);

/// The sharding rule: dimensions before the last `inputs[i]` of operand i and the last `outputs[k]`
/// of result k pass through; the last ones cannot be sharded.
ShardRule cut_before(std::vector<int> inputs, std::vector<int> outputs);

/// A routine whose tasks call run(args, first, last) for some of `count` matrices; one matrix takes
/// `seconds`.
std::shared_ptr<const Routine> for_matrices(const CallArgs& a, std::int64_t count, double seconds,
                                            TaskFn run);

/// The evaluator of an op that has no simpler implementation than the routine that it calls.
EvalRule evaluate_by_call(std::string op);

/// `flops` per matrix of operand 0.
CostRule matrix_cost(std::function<double(double rows, double columns)> flops);

/// An op that factorises matrices by a routine of LAPACK: everything but its attributes, its types,
/// its derivative, its sharding, its cost and its examples.
Op factorisation_op(std::string name, std::string doc, CallRule call);

/// Throws the user's error unless operand 0 has at least two dimensions, is float32, float64 or
/// complex, and has extents that fit in a library's 32 bits.
void check_matrix(const InferArgs& a);
/// Like check_matrix, and the matrices must be square.
void check_square(const InferArgs& a);

/// Throws unless the smaller extent is small enough for the library's 32-bit workspace size.
void check_workspace(const InferArgs& a);

inline std::int64_t rows_of(const Shape& s) { return s[s.size() - 2]; }
inline std::int64_t columns_of(const Shape& s) { return s[s.size() - 1]; }
/// `s` with the last two extents replaced.
Shape with_matrix(const Shape& s, std::int64_t rows, std::int64_t columns);
/// `s` with the last two extents replaced by one.
Shape with_vector(const Shape& s, std::int64_t n);

// --- building blocks of the rules; matrices are the last two dimensions
Value matmul(Value x, Value y);
Value swapped(Value x);  // the transpose
Value adjoint(Value x);  // the conjugate transpose
/// The elements on and below diagonal k, or on and above it, with zeros elsewhere.
Value lower_triangle(Value x, std::int64_t k = 0);
Value upper_triangle(Value x, std::int64_t k = 0);
/// Identity matrices of the given shape.
Value identity_like(Builder& b, DType dtype, const Shape& shape);
/// The diagonals of square matrices, and matrices with the given diagonals.
Value diagonal_of(Value x);
Value diagonal_matrix(Value v);
/// v repeated as every row of `shape`, result(..., i, j) = v(..., j), or as every column,
/// result(..., i, j) = v(..., i).
Value along_columns(Value v, const Shape& shape);
Value along_rows(Value v, const Shape& shape);
/// The Hermitian matrix whose lower triangle is that of x.
Value hermitian_from_lower(Value x);
/// The real part of a complex value; x itself if it is real.
Value real_part(Value x);
/// x converted to the dtype if it differs; a float becomes complex with imaginary part 0.
Value in_dtype(Value x, DType dtype);
/// Rows [r0, r1) and columns [c0, c1) of the matrices.
Value submatrix(Value x, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1);
/// Padded with zeros at the end to this many rows and columns.
Value padded_to(Value x, std::int64_t rows, std::int64_t columns);
/// 1 / x, or 0 where x is 0.
Value reciprocal_or_zero(Value x);
/// x, or 0 where |x| is at most a few units in the last place of the largest of `sizes` along its
/// last dimension: a rounding error in the difference of equal eigenvalues, or in a zero singular
/// value. The dimensions of x are those of `sizes`, or one more.
Value zero_by_rounding(Value x, Value sizes);

}  // namespace tessera::inline v0::ops
