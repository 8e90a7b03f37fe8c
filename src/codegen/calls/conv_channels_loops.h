// The inner loops of conv_channels.h.
#pragma once

#include "ir/program.h"

#include <cstdint>

namespace tessera::inline v0::codegen {

/// A row of the window, and the row of the source that it is multiplied with.
struct ChannelRow {
  const char* source;   // the element under window position 0 of the first output
  const char* weights;  // of window position 0
};

/// A position in a row of the window. Distances are in bytes.
struct ChannelTap {
  std::int64_t source, weights;
};

/// Neighbouring outputs with the same taps. Distances are in bytes.
struct ChannelStrip {
  const ChannelRow* rows;
  std::int64_t row_count;
  const ChannelTap* taps;
  std::int64_t tap_count;
  char* to;
  std::int64_t count;                 // outputs
  std::int64_t step, to_step;         // between outputs: in the source, and in the result
  std::int64_t channels, begin, end;  // all channels, and those that are computed
  /// The distances from one tap to the next, if they are the same for all taps; otherwise `next` is
  /// 0.
  std::int64_t next, next_weights;
};

using ChannelLoop = void (*)(const ChannelStrip&);
/// The loop for this processor and this number of channels; nullptr if there is none for the dtype.
ChannelLoop channel_loop(DType dtype, std::int64_t channels);

}  // namespace tessera::inline v0::codegen
