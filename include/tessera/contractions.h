// Contractions.
#pragma once

#include <tessera/array.h>

#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// NumPy's dot: last axis of x with the second to last of y (the only one of a vector); scalars
/// multiply.
TESSERA_API Array dot(Operand x, Operand y);
/// Matrices in the last two axes, broadcast over the others; vectors count as one row or column
/// that is dropped again.
TESSERA_API Array matmul(Operand x, Operand y);
/// x and y flattened: result(i, j) = x(i) * y(j).
TESSERA_API Array outer(Operand x, Operand y);
/// Sum over the last axes of both.
TESSERA_API Array inner(Operand x, Operand y);
/// Sum over the last `axes` of x and the first of y.
TESSERA_API Array tensordot(Operand x, Operand y, int axes = 2);
/// Einstein notation, "bqhd,bkhd->bhqk": letters shared by the operands are summed unless the
/// result names them; without an arrow the result has the letters that occur once, sorted. "..."
/// stands for leading axes that broadcast. Contracts pairs of operands from the left.
TESSERA_API Array einsum(const std::string& subscripts, const std::vector<Array>& operands,
                         std::source_location loc = std::source_location::current());
/// The same of one, two or three operands: einsum("ij,jk->ik", x, y).
inline Array einsum(const std::string& subscripts, const Array& x,
                    std::source_location loc = std::source_location::current()) {
  return einsum(subscripts, std::vector{x}, loc);
}
inline Array einsum(const std::string& subscripts, const Array& x, const Array& y,
                    std::source_location loc = std::source_location::current()) {
  return einsum(subscripts, std::vector{x, y}, loc);
}
inline Array einsum(const std::string& subscripts, const Array& x, const Array& y, const Array& z,
                    std::source_location loc = std::source_location::current()) {
  return einsum(subscripts, std::vector{x, y, z}, loc);
}
/// Sum of the diagonal `offset` of axes `axis1` and `axis2`: of the elements whose position along
/// axis2 is `offset` more than that along axis1. Integers narrower than 32 bits sum in 32.
TESSERA_API Array trace(Operand x, std::int64_t offset = 0, std::int64_t axis1 = 0,
                        std::int64_t axis2 = 1);

}  // namespace tessera::inline v0
