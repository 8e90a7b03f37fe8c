// Windows that are read directly from the source: the elements of a window row are a contiguous run
// of the source, and the next output of a row of the result reads the same run one pixel further
// on. So a tile of pixels of one row needs no im2col matrix. Only the source itself is copied,
// once, with zeros in its padding.
#include "codegen/matrix/convolution.h"
#include "codegen/matrix/kept_memory.h"
#include "codegen/matrix/sizes.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::codegen::matrix {

namespace {

constexpr int kWindowsMemory = 0;
// Tiles of fewer rows would read the weights too often.
constexpr int kLeastRows = 5;
// Pixels at multiples of the first distance would share only a few sets of the nearest cache.
constexpr std::int64_t kSharedSets = 2048, kNextSet = 64;

}  // namespace

bool Convolution::reads_windows(const ConvShape& s) {
  const ConvAxis &z = s.axes[0], &y = s.axes[1], &x = s.axes[2];
  if (z.taps.size() != 1 || z.taps[0].offset != 0 || (z.out - 1) * z.step >= z.in) return false;
  if (y.taps.empty() || x.taps.empty() || y.taps.size() * x.taps.size() == 1 || x.out < 1)
    return false;
  const Heights heights(x.out);
  const std::int64_t lowest = heights.of(heights.panels - 1);
  return lowest >= std::min(kLeastRows, most_rows() - 1) && 2 * lowest > most_rows();
}

void Convolution::find_windows() {
  by_windows_ = !in_place_ && terms_ > 0 && reads_windows(shape_);
  if (!by_windows_) return;
  const ConvAxis* a = shape_.axes;
  const std::int64_t pixel = shape_.inputs * size_;
  window_pixel_ = pixel % kSharedSets == 0 ? pixel + kNextSet : pixel;
  window_x_ = a[2].taps.front().offset;
  window_columns_ = (a[2].out - 1) * a[2].step + a[2].taps.back().offset - window_x_ + 1;
  window_row_ = window_columns_ * window_pixel_;
}

// The runs of a chunk, from the position of a pixel in the copy.
void Convolution::find_runs() {
  const std::int64_t b_step = (weights_in_place_ ? shape_.weights_input : width()) * size_;
  for (Chunk& c : chunks_)
    for (const Segment& s : c.segments)
      c.runs.push_back({s.y * window_row_ + s.start, s.to / size_ * b_step, s.bytes / size_});
}

// Copies the rows of the source under some rows of the result, and records for each row where the
// pixel of its first output is.
void Convolution::copy_windows(const Source& source, std::int64_t first, std::int64_t rows,
                               std::vector<const char*>& at) const {
  const ConvAxis* a = shape_.axes;
  const std::int64_t low = a[1].taps.front().offset, high = a[1].taps.back().offset,
                     pixel = shape_.inputs * size_, image_rows = a[0].out * a[1].out;
  struct Band {
    std::int64_t image, z, y, rows;
  };
  std::vector<Band> bands;
  std::int64_t copied = 0;
  for (std::int64_t row = first; row < first + rows;) {
    const std::int64_t y = row % a[1].out, count = std::min(a[1].out - y, first + rows - row);
    bands.push_back({row / image_rows, row / a[1].out % a[0].out, y, count});
    copied += (count - 1) * a[1].step + high - low + 1;
    row += count;
  }
  char* to = kept_memory(static_cast<std::size_t>(copied * window_row_), kWindowsMemory);
  const std::int64_t begin = std::clamp<std::int64_t>(window_x_, 0, a[2].in),
                     end = std::clamp(window_x_ + window_columns_, begin, a[2].in),
                     before = std::min(window_row_, (begin - window_x_) * window_pixel_),
                     inside = (end - begin) * window_pixel_;
  const bool dense = source.x == window_pixel_;
  at.clear();
  for (const Band& band : bands) {
    for (std::int64_t i = 0; i < band.rows; ++i)
      at.push_back(to + (i * a[1].step - low) * window_row_ - window_x_ * window_pixel_);
    const char* plane = source.at + band.image * source.image + band.z * a[0].step * source.z;
    const std::int64_t start = band.y * a[1].step + low,
                       count = (band.rows - 1) * a[1].step + high - low + 1;
    for (std::int64_t y = start; y < start + count; ++y, to += window_row_) {
      if (y < 0 || y >= a[1].in) {
        std::memset(to, 0, static_cast<std::size_t>(window_row_));
        continue;
      }
      const char* from = plane + y * source.y + begin * source.x;
      std::memset(to, 0, static_cast<std::size_t>(before));
      if (dense)
        std::memcpy(to + before, from, static_cast<std::size_t>(inside));
      else
        for (std::int64_t x = 0; x < end - begin; ++x)
          std::memcpy(to + before + x * window_pixel_, from + x * source.x,
                      static_cast<std::size_t>(pixel));
      std::memset(to + before + inside, 0, static_cast<std::size_t>(window_row_ - before - inside));
    }
  }
}

}  // namespace tessera::inline v0::codegen::matrix
