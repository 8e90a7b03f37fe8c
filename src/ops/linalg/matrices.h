// What ops share that work on the last dimensions and treat those before as a batch.
#pragma once

#include "ir/op.h"
#include "ops/build.h"

#include <functional>

namespace tessera::inline v0::ops {

/// How many matrices, or lines, an operand holds whose last `trailing` dimensions are one.
std::int64_t count_before(const Shape& shape, int trailing);

/// All operands and results stacked along dimension 0.
BatchResult batch_before(const BatchArgs& a);

/// Dimensions before the last `inputs[i]` of operand i and `outputs[k]` of result k pass through;
/// those cannot be cut.
ShardRule cut_before(std::vector<int> inputs, std::vector<int> outputs);

/// A routine whose tasks call run(args, first, last) for some of `count` matrices, of which each
/// takes so long.
std::shared_ptr<const Routine> for_matrices(const CallArgs& a, std::int64_t count, double seconds,
                                            TaskFn run);

/// The evaluator of an op for which there is no plainer way than the routine that it calls.
EvalRule evaluate_by_call(std::string op);

/// `flops` for each matrix of operand 0.
CostRule matrix_cost(std::function<double(double rows, double columns)> flops);

/// Throws the user's error unless operand 0 has two dimensions at least, is float32, float64 or
/// complex, and has extents that a library counts in 32 bits.
void check_matrix(const InferArgs& a);
/// And is square.
void check_square(const InferArgs& a);

/// Throws unless the smaller extent is one for which the library counts its workspace in 32 bits.
void check_workspace(const InferArgs& a);

inline std::int64_t rows_of(const Shape& s) { return s[s.size() - 2]; }
inline std::int64_t columns_of(const Shape& s) { return s[s.size() - 1]; }
/// `s` with other last two extents.
Shape with_matrix(const Shape& s, std::int64_t rows, std::int64_t columns);
/// `s` with another extent in place of the last two.
Shape with_vector(const Shape& s, std::int64_t n);

// --- values of which the rules are written; matrices are the last two dimensions
Value matmul(Value x, Value y);
Value swapped(Value x);  // rows for columns
Value adjoint(Value x);  // and conjugated
/// Elements on and below diagonal k, or on and above it; the others zero.
Value lower_triangle(Value x, std::int64_t k = 0);
Value upper_triangle(Value x, std::int64_t k = 0);
/// Ones on the diagonal of the shape's matrices.
Value identity_like(Builder& b, DType dtype, const Shape& shape);
/// The diagonals of square matrices, and matrices with these diagonals.
Value diagonal_of(Value x);
Value diagonal_matrix(Value v);
/// v as a row for each column, or a column for each row, of `shape`: result(..., i, j) is v(..., j)
/// or v(..., i).
Value along_columns(Value v, const Shape& shape);
Value along_rows(Value v, const Shape& shape);
/// The matrix that an op means which reads the lower triangle of a Hermitian one.
Value hermitian_from_lower(Value x);
/// The real part, of what is complex.
Value real_part(Value x);
/// In the dtype, where it is another; a float becomes complex with no imaginary part.
Value in_dtype(Value x, DType dtype);
/// Rows [r0, r1) and columns [c0, c1) of the matrices.
Value submatrix(Value x, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1);
/// Filled up with zeros behind, to so many rows and columns.
Value padded_to(Value x, std::int64_t rows, std::int64_t columns);
/// 1 / x, and 0 where x is 0.
Value reciprocal_or_zero(Value x);
/// x, and 0 where it is no more than a few units in the last place of the largest of `sizes` along
/// its last dimension: what is left of the difference of equal eigenvalues, or of a singular value
/// of 0, when they are computed. The dimensions of x are those of `sizes`, or one more.
Value zero_by_rounding(Value x, Value sizes);

}  // namespace tessera::inline v0::ops
