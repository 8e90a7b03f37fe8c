// Products of vectors and matrices, as NumPy has them.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0 {

/// The sum of conj(x) * y over all elements. ShapeError where their numbers differ.
TESSERA_API Array vdot(Operand x, Operand y);
/// The sum of conj(x) * y along an axis of both; the others broadcast.
TESSERA_API Array vecdot(Operand x, Operand y, std::int64_t axis = -1);
/// The vector product of vectors of 2 or 3 elements along an axis of both; the others broadcast. Of
/// two vectors of 2 it is the third component alone. ShapeError for other lengths.
TESSERA_API Array cross(Operand x, Operand y, std::int64_t axis = -1);
/// The Kronecker product: each element of x times all of y, as a block in its place.
TESSERA_API Array kron(Operand x, Operand y);
/// Matrices in the last two axes, one product for each place of the others, which are equal.
/// ShapeError where they are not, and for less than two axes.
TESSERA_API Array batch_matmul(Operand x, Operand y);

}  // namespace tessera::inline v0
