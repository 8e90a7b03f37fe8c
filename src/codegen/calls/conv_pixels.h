// Convolutions with few output channels. Vector lanes hold neighbouring pixels, because oneDNN's
// vectors of channels would be half empty.
#pragma once

#include "codegen/calls/onednn.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::inline v0::codegen {

/// A forward float32 convolution over one or two spatial dimensions, at any strides in memory. The
/// source is copied to planes: one per channel and, for strided windows, per remainder of row and
/// column by the stride. Padding becomes zeros. Each tap of the kernel is then a constant offset in
/// the planes, and output rows follow each other without gaps, so that vectors run on across rows.
/// Each output sums over input channels, kernel rows and kernel columns in this order, independent
/// of its position. Immutable and safe to run on several threads with distinct scratch.
class ConvPixels {
 public:
  /// nullptr for other convolutions, including grouped ones, and, unless `always`, if oneDNN is
  /// expected to be faster.
  static std::shared_ptr<const ConvPixels> make(const onednn::ConvSpec& spec, bool always = false);
  virtual ~ConvPixels() = default;

  /// The number of bands of rows over all images, which depends only on the shapes.
  virtual std::int64_t pieces() const = 0;
  /// The rows of the result over all images that a piece computes.
  struct Rows {
    std::int64_t first, count;
  };
  virtual Rows rows(std::int64_t piece) const = 0;
  /// Bytes of the weights, packed in the order of the sums.
  virtual std::size_t packed_bytes() const = 0;
  virtual std::size_t scratch_bytes() const = 0;
  virtual void pack(const float* weights, float* packed) const = 0;
  virtual void run(const float* source, const float* packed, float* destination, float* scratch,
                   std::int64_t begin, std::int64_t end) const = 0;
};

}  // namespace tessera::inline v0::codegen
