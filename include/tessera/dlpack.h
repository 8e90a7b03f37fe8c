// Exchanges arrays with other libraries without copying, as the DLPack tensors that __dlpack__ of
// NumPy, PyTorch and JAX returns.
#pragma once

#include <tessera/array.h>

#include <source_location>

struct DLManagedTensor;  // <dlpack/dlpack.h>

namespace tessera::inline v0 {

/// Returns a row-major CPU view of x, which keeps the memory alive until its deleter is called.
/// Waits for x; an array over several devices is assembled first. Arrays are immutable, so the
/// consumer must not write to the view. Booleans are bytes with DLPack's type code 6.
TESSERA_API DLManagedTensor* to_dlpack(const Array& x,
                                       std::source_location loc = std::source_location::current());
/// Takes ownership of the tensor. Its deleter is called when the last array that reads it is
/// destroyed, or at once if the tensor is copied or rejected. Row-major, 64-byte aligned CPU memory
/// is used in place and must not change meanwhile; memory with other strides or alignment is
/// copied. Throws DTypeError for unsupported element types, ShapeError for negative extents and
/// impossible sizes, and Error for memory that is not on the CPU or is missing.
TESSERA_API Array from_dlpack(DLManagedTensor* tensor,
                              std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
