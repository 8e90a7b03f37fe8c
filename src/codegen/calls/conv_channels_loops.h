// The inner loops of conv_channels.h.
#pragma once

#include "ir/program.h"

#include <cstdint>

namespace tessera::inline v0::codegen {

/// A row of the window, which meets a row of the source.
struct ChannelRow {
  const char* source;   // what the first output's window position 0 would read
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
  std::int64_t step, to_step;         // from what one output reads and writes to the next one's
  std::int64_t channels, begin, end;  // all channels, and those that are computed
  /// From one tap to the next, if that is the same for all of them; else `next` is 0.
  std::int64_t next, next_weights;
};

using ChannelLoop = void (*)(const ChannelStrip&);
/// The loop for this processor and so many channels; nullptr if there is none for the dtype.
ChannelLoop channel_loop(DType dtype, std::int64_t channels);

}  // namespace tessera::inline v0::codegen
