// Shared by the ops that find eigenvalues and, if asked for, eigenvectors.
#pragma once

#include "ir/op.h"

#include <string>

namespace tessera::inline v0::ops {

/// A factorisation_op of square matrices with the attribute `vectors`: the results are the
/// eigenvalues and, if it is set, a matrix of vectors.
Op eigen_op(std::string name, std::string doc, CallRule call);
OpExample eigen_example(DType dtype, Shape shape, bool vectors);

}  // namespace tessera::inline v0::ops
