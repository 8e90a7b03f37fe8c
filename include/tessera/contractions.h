// Contractions: products that sum over shared axes. Dtypes promote. Throws ShapeError if the
// extents of summed axes differ, or if an operand has too few axes.
#pragma once

#include <tessera/array.h>

#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// NumPy's dot: contracts the last axis of x with the second to last of y (the only one if y is a
/// vector). Scalars multiply.
TESSERA_API Array dot(Operand x, Operand y);
/// Multiplies matrices in the last two axes and broadcasts the others. A vector counts as a single
/// row or column, which is removed from the result.
TESSERA_API Array matmul(Operand x, Operand y);
/// The outer product of x and y flattened: result(i, j) = x(i) * y(j).
TESSERA_API Array outer(Operand x, Operand y);
/// Contracts the last axes of both operands.
TESSERA_API Array inner(Operand x, Operand y);
/// Contracts the last `axes` axes of x with the first ones of y.
TESSERA_API Array tensordot(Operand x, Operand y, int axes = 2);
/// Einstein notation, "bqhd,bkhd->bhqk": letters that do not occur in the result are summed over.
/// Without an arrow, the result has the letters that occur once, sorted. "..." stands for leading
/// axes that broadcast. Operands are contracted pairwise from the left.
TESSERA_API Array einsum(const std::string& subscripts, const std::vector<Array>& operands,
                         std::source_location loc = std::source_location::current());
/// Overloads for one, two or three operands: einsum("ij,jk->ik", x, y).
TESSERA_API Array einsum(const std::string& subscripts, const Array& x,
                         std::source_location loc = std::source_location::current());
TESSERA_API Array einsum(const std::string& subscripts, const Array& x, const Array& y,
                         std::source_location loc = std::source_location::current());
TESSERA_API Array einsum(const std::string& subscripts, const Array& x, const Array& y,
                         const Array& z,
                         std::source_location loc = std::source_location::current());
/// Sums the diagonal `offset` of axes `axis1` and `axis2`: the elements whose position along axis2
/// is `offset` more than that along axis1. Integers narrower than 32 bits are summed in 32.
TESSERA_API Array trace(Operand x, std::int64_t offset = 0, std::int64_t axis1 = 0,
                        std::int64_t axis2 = 1);

}  // namespace tessera::inline v0
