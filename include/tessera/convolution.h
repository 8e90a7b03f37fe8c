// Convolutions and windows over channels-last arrays: batch, spatial axes, channels (NWC, NHWC,
// NDHWC).
#pragma once

#include <tessera/array.h>

#include <string>

namespace tessera::inline v0 {

/// How the edges are padded: "SAME" (output extent ceil(n / stride), an odd element after),
/// "SAME_LOWER" (an odd element before), "VALID" (none), in any case; or (before, after) for each
/// spatial axis.
class Padding {
 public:
  Padding(const char* name) : name_(name) {}
  Padding(std::string name) : name_(std::move(name)) {}
  Padding(std::vector<std::pair<std::int64_t, std::int64_t>> widths) : widths_(std::move(widths)) {}
  const std::string& name() const { return name_; }
  const std::vector<std::pair<std::int64_t, std::int64_t>>& widths() const { return widths_; }

 private:
  std::string name_;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths_;
};

/// One entry a spatial axis each; empty means ones.
struct ConvOptions {
  std::vector<std::int64_t> strides;
  Padding padding = "SAME";
  std::vector<std::int64_t> input_dilation;   // of x: transposed convolution
  std::vector<std::int64_t> kernel_dilation;  // of the kernel: atrous convolution
  std::int64_t feature_group_count = 1;
};

/// x (batch, spatial..., channels in) with kernel (spatial..., channels in / groups, channels out):
/// cross-correlation, as every deep-learning library has it (the kernel is not flipped). Dtypes
/// promote. ShapeError when channels do not agree.
TESSERA_API Array conv(Operand x, Operand kernel, const ConvOptions& options = {});

/// Windows of `window` over the spatial axes of x (batch, spatial..., channels), moved by `strides`
/// (default: the window).
TESSERA_API Array max_pool(Operand x, const std::vector<std::int64_t>& window,
                           const std::vector<std::int64_t>& strides = {},
                           const Padding& padding = "VALID");
/// The mean over each window; padding does not count.
TESSERA_API Array avg_pool(Operand x, const std::vector<std::int64_t>& window,
                           const std::vector<std::int64_t>& strides = {},
                           const Padding& padding = "VALID");

}  // namespace tessera::inline v0
