// Arrays of other libraries without a copy, and ours to them, as DLPack tensors: what __dlpack__ of
// NumPy, PyTorch and JAX hands over.
#pragma once

#include <tessera/array.h>

#include <source_location>

struct DLManagedTensor;  // <dlpack/dlpack.h>

namespace tessera::inline v0 {

/// A view of x, row-major on the CPU, which lives until its deleter is called, whatever becomes of
/// x. Waits for x; one over several devices is put together first. Arrays do not change, so who
/// takes the view must not write to it. Booleans are bytes of DLPack's code 6.
TESSERA_API DLManagedTensor* to_dlpack(const Array& x,
                                       std::source_location loc = std::source_location::current());
/// Takes the tensor over, and calls its deleter: when the last array that reads it is gone, or at
/// once where it is copied or refused. Memory of the CPU that is row-major and 64-byte aligned is
/// read in place and must not change meanwhile; with other strides or another alignment it is
/// copied. DTypeError for elements that no dtype here has, ShapeError for negative extents and
/// sizes that memory cannot have, Error for memory that is not the CPU's or is missing.
TESSERA_API Array from_dlpack(DLManagedTensor* tensor,
                              std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
