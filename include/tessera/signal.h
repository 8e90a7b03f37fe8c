// Convolutions of signals under the names of NumPy and SciPy.
#pragma once

#include <tessera/array.h>
#include <tessera/convolution.h>

#include <string>

namespace tessera::inline v0 {

/// The convolution of x and y along every axis, in floats: sums of products of x and the reversed y
/// where they overlap. `mode` "full" keeps all overlaps; "same" the middle ones, as many as x has
/// elements (for vectors, as the longer operand has); "valid" those where one operand lies within
/// the other. Throws ShapeError unless both are non-empty, have the same number of axes (at least
/// 1), and one is at least as large as the other along every axis; Error for any other mode.
TESSERA_API Array convolve(Operand x, Operand y, const std::string& mode = "full");
/// The same as convolve, under SciPy's name for matrices.
TESSERA_API Array convolve2d(Operand x, Operand y, const std::string& mode = "full");
/// The cross-correlation of vectors: sums of products of x and conj(y), which is not reversed.
TESSERA_API Array correlate(Operand x, Operand y, const std::string& mode = "valid");

/// The options of conv_transpose: `strides` for each spatial axis (by default 1), and the
/// `padding`. With `transpose_kernel` the kernel is that of the forward convolution.
struct ConvTransposeOptions {
  detail::Named named = detail::Named();
  std::vector<std::int64_t> strides = {};
  Padding padding = "SAME";
  bool transpose_kernel = false;
};
/// The transposed convolution of x (batch, spatial..., channels) with a kernel (spatial..., in,
/// out): a convolution of x with `strides` - 1 zeros inserted between its elements. The padding is
/// "SAME" (result extents n * stride) or "VALID". With `transpose_kernel` the kernel is that of the
/// forward convolution: it is reversed, and its channels are swapped.
TESSERA_API Array conv_transpose(Operand x, Operand kernel,
                                 const ConvTransposeOptions& options = {});

}  // namespace tessera::inline v0
