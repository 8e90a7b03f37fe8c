// Convolutions and windows over channels-last arrays: batch, spatial axes, channels (NWC, NHWC,
// NDHWC).
#pragma once

#include <tessera/array.h>

#include <string>

namespace tessera::inline v0 {

/// How the edges are padded: "SAME" (output extent ceil(n / stride), an odd padding element goes
/// after), "SAME_LOWER" (it goes before) or "VALID" (no padding), case-insensitively; or (before,
/// after) for each spatial axis.
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

/// The options of conv. Each list has one entry per spatial axis; an empty list means ones.
/// `feature_group_count` is the number of channel groups, which must divide both numbers of
/// channels.
struct ConvOptions {
  std::vector<std::int64_t> strides;
  Padding padding = "SAME";
  std::vector<std::int64_t> input_dilation;   // dilation of x, for transposed convolution
  std::vector<std::int64_t> kernel_dilation;  // dilation of the kernel, for atrous convolution
  std::int64_t feature_group_count = 1;
};

/// Cross-correlates x (batch, spatial..., channels in) with kernel (spatial..., channels in /
/// groups, channels out), without flipping the kernel, as all deep-learning libraries do. Dtypes
/// promote. Throws ShapeError if the channels do not match.
TESSERA_API Array conv(Operand x, Operand kernel, const ConvOptions& options = {});

/// The maximum over windows of size `window` along the spatial axes of x (batch, spatial...,
/// channels). The default of `strides` is the window.
TESSERA_API Array max_pool(Operand x, const std::vector<std::int64_t>& window,
                           const std::vector<std::int64_t>& strides = {},
                           const Padding& padding = "VALID");
/// The mean over each window; padding does not count.
TESSERA_API Array avg_pool(Operand x, const std::vector<std::int64_t>& window,
                           const std::vector<std::int64_t>& strides = {},
                           const Padding& padding = "VALID");

}  // namespace tessera::inline v0
