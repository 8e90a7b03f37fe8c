// Products of vectors and matrices under NumPy's names.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0 {

/// The sum of conj(x) * y over all elements. Throws ShapeError if the operands have different
/// sizes.
TESSERA_API Array vdot(Operand x, Operand y);
/// The sum of conj(x) * y along an axis of both; the other axes broadcast.
TESSERA_API Array vecdot(Operand x, Operand y, std::int64_t axis = -1);
/// The cross product of vectors of 2 or 3 elements along an axis of both; the other axes broadcast.
/// For two vectors of 2 it is only the third component. Throws ShapeError for other lengths.
TESSERA_API Array cross(Operand x, Operand y, std::int64_t axis = -1);
/// The Kronecker product: a block matrix in which each element of x multiplies all of y.
TESSERA_API Array kron(Operand x, Operand y);
/// Multiplies matrices in the last two axes; all other axes must be equal. Throws ShapeError if
/// they are not, and for fewer than two axes.
TESSERA_API Array batch_matmul(Operand x, Operand y);

}  // namespace tessera::inline v0
