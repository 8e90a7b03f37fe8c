// Convolutions of signals, as NumPy and SciPy have them.
#pragma once

#include <tessera/array.h>
#include <tessera/convolution.h>

#include <string>

namespace tessera::inline v0 {

/// The sums of products of x and the reversed y where they overlap, along every axis, in floats.
/// `mode` "full" has all overlaps, "same" as many as x has elements (as the longer one has, of
/// vectors), from the middle, "valid" those where one lies within the other. ShapeError unless both
/// have elements, as many axes, 1 or more, and one is as large as the other or larger along every
/// axis; Error for another mode.
TESSERA_API Array convolve(Operand x, Operand y, const std::string& mode = "full");
TESSERA_API Array convolve2d(Operand x, Operand y, const std::string& mode = "full");
/// The sums of products of x and conj(y), not reversed, of vectors.
TESSERA_API Array correlate(Operand x, Operand y, const std::string& mode = "valid");

struct ConvTransposeOptions {
  detail::Named named = detail::Named();
  std::vector<std::int64_t> strides = {};
  Padding padding = "SAME";
  bool transpose_kernel = false;
};
/// The convolution of x with `strides` - 1 zeros between its elements, "SAME" (result extents n *
/// stride) or "VALID"; of (batch, spatial..., channels) and a kernel (spatial..., in, out). With
/// `transpose_kernel` the kernel is that of the convolution that this is the transpose of: it is
/// reversed, and its channels change places.
TESSERA_API Array conv_transpose(Operand x, Operand kernel,
                                 const ConvTransposeOptions& options = {});

}  // namespace tessera::inline v0
