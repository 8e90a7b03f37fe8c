// The copies that a gradient with respect to weights makes of its operands, and of its result into
// the layout of the weights.
#include "codegen/matrix/weights_gradient.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::codegen::matrix {

// Rows of the source with adjacent channels, and with zeros where they reach into the padding.
void WeightsGradient::copy_windows(const Chunk& chunk, const char* source, char* to) const {
  const ConvShape& s = shape_;
  const ConvAxis& row = s.axes[2];
  const std::int64_t begin = std::clamp<std::int64_t>(chunk.source_x, 0, row.in),
                     end = std::clamp(chunk.source_x + chunk.source_columns, begin, row.in),
                     row_bytes = chunk.source_columns * pixel_,
                     before = std::min(row_bytes, (begin - chunk.source_x) * pixel_),
                     inside = (end - begin) * pixel_;
  const bool dense = (s.source_channel == 1 || s.inputs == 1) && row.source == s.inputs;
  auto gather = [&]<class T>(const T* from, T* out) {
    for (std::int64_t x = 0; x < end - begin; ++x)
      for (std::int64_t c = 0; c < s.inputs; ++c)
        *out++ = from[x * row.source + c * s.source_channel];
  };
  for (std::size_t i = 0; i < chunk.copied.size(); ++i) {
    const Copied& c = chunk.copied[i];
    const Band& band = chunk.bands[i / s.axes[0].taps.size()];
    for (std::int64_t y = 0; y < c.rows; ++y) {
      char* out = to + c.at + y * row_bytes;
      const char* from = source + source_at(band.image, c.z, c.y + y, begin);
      std::memset(out, 0, static_cast<std::size_t>(before));
      if (dense)
        std::memcpy(out + before, from, static_cast<std::size_t>(inside));
      else if (size_ == 8)
        gather(reinterpret_cast<const double*>(from), reinterpret_cast<double*>(out + before));
      else
        gather(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(out + before));
      std::memset(out + before + inside, 0, static_cast<std::size_t>(row_bytes - before - inside));
    }
  }
}

// Copies the channels of a group so that the vectors of a pixel are adjacent.
void WeightsGradient::copy_channels(const Chunk& chunk, const char* source, std::int64_t group,
                                    char* to) const {
  const ConvShape& s = shape_;
  const ConvAxis* a = s.axes;
  const std::int64_t channel = groups_.first_row(group), count = groups_.of(group);
  // Rows that follow each other are copied as one.
  const bool whole = chunk.source_columns == a[2].in && a[1].source == a[2].in * a[2].source;
  PackArgs args{};
  args.from_step = a[2].source * size_;
  args.from_line = s.source_channel * size_;
  args.to_step = pixel_;
  args.panels = 1;
  for (std::size_t i = 0; i < chunk.copied.size(); ++i) {
    const Copied& c = chunk.copied[i];
    const Band& band = chunk.bands[i / a[0].taps.size()];
    const std::int64_t together = whole ? c.rows : 1;
    for (std::int64_t y = 0; y < c.rows; y += together) {
      const char* from =
          source + source_at(band.image, c.z, c.y + y, chunk.source_x) + channel * args.from_line;
      char* out = to + c.at + y * chunk.source_columns * pixel_;
      args.steps = together * chunk.source_columns;
      for (std::int64_t lane = 0; lane < count; lane += lanes_) {
        args.from = from + lane * args.from_line;
        args.to = out + lane * size_;
        args.lines = std::min<std::int64_t>(lanes_, s.inputs - channel - lane);
        if (args.steps > 0) pack_source_(&args);
      }
    }
  }
}

// Panels of some columns of the destination, whose first column `destination` has.
void WeightsGradient::copy_pixels(const Chunk& chunk, const char* destination, std::int64_t columns,
                                  char* to) const {
  const ConvShape& s = shape_;
  const std::int64_t step = s.axes[2].destination * size_, line = s.destination_channel * size_,
                     to_step = width() * size_, panel = chunk.rows * chunk.columns * to_step,
                     whole = columns / width();
  PackArgs args{};
  args.from_step = step;
  args.from_line = line;
  args.from_panel = width() * line;
  args.to_step = to_step;
  args.to_panel = panel;
  auto copy = [&](std::int64_t from, std::int64_t pixel, std::int64_t steps) {
    args.steps = steps;
    auto call = [&](PackKernel kernel, std::int64_t column, std::int64_t panels,
                    std::int64_t lines) {
      args.from = destination + from + column * line;
      args.to = to + column / width() * panel + pixel * to_step + column % width() * size_;
      args.panels = panels;
      args.lines = lines;
      if (panels > 0) kernel(&args);
    };
    if (pack_destination2_) {
      call(pack_destination2_, 0, whole, lanes_);
    } else {
      for (std::int64_t lane = 0; lane < width(); lane += lanes_)
        call(pack_destination_, lane, whole, lanes_);
    }
    for (std::int64_t column = whole * width(); column < columns; column += lanes_)
      call(pack_destination_, column, 1, std::min<std::int64_t>(lanes_, columns - column));
  };
  // Rows that follow each other are copied as one, of adjacent columns a few pixels at a time.
  std::int64_t from = 0, first = 0, pixels = 0;
  auto flush = [&] {
    const std::int64_t together = pack_destination2_ && columns > width() ? kPackedSteps : pixels;
    for (std::int64_t p = 0; p < pixels; p += together)
      copy(from + p * step, first + p, std::min(together, pixels - p));
    pixels = 0;
  };
  for (const Band& band : chunk.bands)
    for (std::int64_t y = 0; y < band.rows; ++y) {
      const std::int64_t at = destination_at(band.image, band.z, band.y + y, chunk.x);
      if (pixels && at != from + pixels * step) flush();
      if (!pixels) from = at, first = (band.first + y) * chunk.columns;
      pixels += chunk.columns;
    }
  flush();
}

void WeightsGradient::write(const void* sums, void* weights, Rows rows) const {
  const ConvShape& s = shape_;
  const ConvAxis* a = s.axes;
  const std::int64_t n = s.outputs;
  std::vector<std::int64_t> taps;  // where they begin in the weights
  for (const ConvTap& z : a[0].taps)
    for (const ConvTap& y : a[1].taps)
      for (const ConvTap& x : a[2].taps)
        taps.push_back(z.window * a[0].weights + y.window * a[1].weights + x.window * a[2].weights);
  auto write = [&]<class T>(const T* from, T* to) {
    auto place = [&](std::int64_t row) {
      return to + taps[static_cast<std::size_t>(row / s.inputs)] + row % s.inputs * s.weights_input;
    };
    const std::int64_t last = rows.first + rows.count;
    if (s.weights_output == 1 || n == 1) {
      for (std::int64_t r = rows.first; r < last; ++r)
        std::memcpy(place(r), from + r * n, static_cast<std::size_t>(n * size_));
      return;
    }
    // Some columns are copied at a time, so that the lines of the weights are still in a near cache
    // when they are written again.
    constexpr std::int64_t kTogether = 16;
    for (std::int64_t column = 0; column < n; column += kTogether)
      for (std::int64_t r = rows.first; r < last; ++r) {
        T* out = place(r) + column * s.weights_output;
        const T* row = from + r * n + column;
        for (std::int64_t i = 0; i < std::min(kTogether, n - column); ++i)
          out[i * s.weights_output] = row[i];
      }
  };
  if (size_ == 8)
    write(static_cast<const double*>(sums), static_cast<double*>(weights));
  else
    write(static_cast<const float*>(sums), static_cast<float*>(weights));
}

}  // namespace tessera::inline v0::codegen::matrix
