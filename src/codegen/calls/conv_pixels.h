// Convolutions with few output channels, whose lanes are neighbouring pixels: a vector of channels,
// as the library has it, would be half empty.
#pragma once

#include "codegen/calls/onednn.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::inline v0::codegen {

/// A forward convolution of float32 along lines or of images, at any strides in memory. The source
/// is copied to planes, one for each channel and, where windows are some pixels apart, each
/// remainder of a row and column by that; padding becomes zeros in them. A tap of the kernel is then
/// a distance in the planes, the same for all outputs, and an output row follows the one before it
/// without a gap, so that vectors run on across rows. An output's sum goes over input channels, rows
/// and columns of the kernel in this order, wherever it lies. Immutable and safe to run on several
/// threads with distinct scratch.
class ConvPixels {
 public:
  /// nullptr for others, those with groups among them, and unless `always` where the library is
  /// expected to be quicker.
  static std::shared_ptr<const ConvPixels> make(const onednn::ConvSpec& spec, bool always = false);
  virtual ~ConvPixels() = default;

  /// Bands of rows of all images; a function of the shapes.
  virtual std::int64_t pieces() const = 0;
  /// Of the weights in the order of the sums.
  virtual std::size_t packed_bytes() const = 0;
  virtual std::size_t scratch_bytes() const = 0;
  virtual void pack(const float* weights, float* packed) const = 0;
  virtual void run(const float* source, const float* packed, float* destination, float* scratch,
                   std::int64_t begin, std::int64_t end) const = 0;
};

}  // namespace tessera::inline v0::codegen
