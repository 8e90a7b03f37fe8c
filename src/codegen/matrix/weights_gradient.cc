#include "codegen/matrix/weights_gradient.h"

#include "base/machine.h"
#include "codegen/matrix/kept_memory.h"

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::codegen::matrix {

namespace {

// The number of channels below which window rows are joined, because a tile would otherwise have
// too few rows.
constexpr std::int64_t kFewChannels = 8;
// The stride in bytes from which pixels are copied for windows of several points.
constexpr std::int64_t kNearPixels = 128, kPairOfLines = 128;
// The numbers of the thread's memories (kept_memory.h) that hold copies of the operands.
constexpr int kSourceMemory = 0, kDestinationMemory = 1;

// The outputs in [begin, end) that read inside the source.
struct Range {
  std::int64_t begin, end;
};
Range inside(const ConvAxis& a, std::int64_t offset, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = offset >= 0 ? 0 : (-offset + a.step - 1) / a.step,
                     last = a.in - 1 - offset < 0 ? 0 : (a.in - 1 - offset) / a.step + 1;
  const Range r{std::max(begin, first), std::min(end, last)};
  return r.begin < r.end ? r : Range{begin, begin};
}

// The positions of the source that outputs [begin, end) read.
Range read_by(const ConvAxis& a, std::int64_t begin, std::int64_t end) {
  return {begin * a.step + a.taps.front().offset, (end - 1) * a.step + a.taps.back().offset + 1};
}
Range clipped(const ConvAxis& a, Range r) {
  r.begin = std::clamp<std::int64_t>(r.begin, 0, a.in);
  r.end = std::clamp(r.end, r.begin, a.in);
  return r;
}

bool adjacent_taps(const ConvAxis& a) {
  for (std::size_t i = 1; i < a.taps.size(); ++i)
    if (a.taps[i].offset != a.taps[i - 1].offset + 1) return false;
  return a.taps.size() > 1;
}

Adjacent adjacent_in(std::int64_t line, std::int64_t step) {
  return line == 1 ? Adjacent::lines : step == 1 ? Adjacent::steps : Adjacent::neither;
}

}  // namespace

PixelChunks pixel_chunks(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t most = machine::kProductChunk;
  if (columns > most) return {1, parts_of(columns, parts_of(columns, most))};
  const std::int64_t together = std::max<std::int64_t>(1, most / columns);
  return {parts_of(rows, parts_of(rows, together)), columns};
}

WeightsGradient::WeightsGradient(const ConvShape& shape, std::int64_t images, std::int64_t pieces)
    : WeightsGradient(shape, images, pieces,
                      shape.inputs < kFewChannels && adjacent_taps(shape.axes[2])) {
  const ConvAxis& row = shape_.axes[2];
  const Range read = read_by(row, 0, row.out);
  if (joins_ && (read.begin < 0 || read.end > row.in))
    without_padding_.reset(new WeightsGradient(shape, images, 1, false));
}

WeightsGradient::WeightsGradient(const ConvShape& shape, std::int64_t images, std::int64_t pieces,
                                 bool joins)
    : shape_(shape),
      lanes_(lanes_of(shape.dtype)),
      size_(static_cast<std::int64_t>(size_of(shape.dtype))),
      images_(images),
      joins_(joins),
      unit_rows_(shape.inputs * (joins ? static_cast<std::int64_t>(shape.axes[2].taps.size()) : 1)),
      groups_(unit_rows_) {
  const ConvAxis* a = shape_.axes;
  taps_ = static_cast<std::int64_t>(a[0].taps.size() * a[1].taps.size() * a[2].taps.size());
  chunks_ = pixel_chunks(images_ * a[0].out * a[1].out, a[2].out);
  for (std::size_t z = 0; z < a[0].taps.size(); ++z)
    for (const ConvTap& y : a[1].taps)
      for (const ConvTap& x : a[2].taps) {
        units_.push_back(
            {z, y.offset, x.offset, static_cast<std::int64_t>(units_.size()) * unit_rows_});
        if (joins_) break;
      }
  const auto units = static_cast<std::int64_t>(units_.size());
  pieces_ = std::clamp<std::int64_t>(pieces, 1, joins_ ? units : groups_.panels);
  find_layouts();
  find_kernels();
}

void WeightsGradient::find_layouts() {
  const ConvShape& s = shape_;
  const ConvAxis& row = s.axes[2];
  auto far = [&](std::int64_t distance) { return distance * size_ % kPage == 0; };
  // A wide tile reads whole pairs of cache lines, so a stride of a page is harmless.
  const bool narrow = width() * size_ < kPairOfLines;
  copies_source_ = !joins_ && ((s.source_channel != 1 && s.inputs > 1) ||
                               (groups_.panels > 1 && row.source * size_ > kNearPixels &&
                                (taps_ > 1 || (narrow && far(row.source)))));
  copies_destination_ = (s.destination_channel != 1 && s.outputs > 1) ||
                        (s.outputs > width() && narrow && far(row.destination));
  if (joins_)
    pixel_ = s.inputs * size_;
  else if (copies_source_)
    pixel_ = round_up(groups_.of(0), lanes_) * size_;
  else
    pixel_ = row.source * size_;
  const DType dtype = s.dtype;
  if (copies_source_)
    pack_source_ = pack_kernel({dtype, {dtype}, true, adjacent_in(s.source_channel, row.source)});
  if (!copies_destination_) return;
  const Adjacent adjacent = adjacent_in(s.destination_channel, row.destination);
  pack_destination_ = pack_kernel({dtype, {dtype}, true, adjacent});
  if (adjacent == Adjacent::lines)
    pack_destination2_ = pack_kernel({dtype, {dtype}, true, adjacent, kTileVectors});
}

void WeightsGradient::find_kernels() {
  kernels_.resize(static_cast<std::size_t>(most_rows()) + 1);
  const std::int64_t rest = shape_.outputs % width();
  for (std::int64_t group : {std::int64_t{0}, groups_.panels - 1}) {
    const std::int64_t height = groups_.of(group);
    OfHeight& k = kernels_[static_cast<std::size_t>(height)];
    Tile tile{{shape_.dtype}, static_cast<int>(height), kTileVectors, false, ReadA::by_steps};
    tile.in_runs = true;
    if (shape_.outputs >= width() && !k.whole) k.whole = tile_kernel(tile);
    if (!rest) continue;
    tile.vectors = static_cast<int>(parts_of(rest, lanes_));
    tile.partial = rest % lanes_ != 0;
    TileKernel& last = k.last[tile.vectors - 1][tile.partial];
    if (!last) last = tile_kernel(tile);
  }
}

bool WeightsGradient::are_sums() const {
  const ConvShape& s = shape_;
  if (s.weights_output != 1 && s.outputs > 1) return false;
  std::int64_t next = s.outputs;
  if (s.inputs > 1 && s.weights_input != next) return false;
  next *= s.inputs;
  for (int i = 2; i >= 0; --i) {
    const ConvAxis& a = s.axes[i];
    if (a.window > 1 && a.weights != next) return false;
    for (std::size_t t = 0; t < a.taps.size(); ++t)
      if (a.taps[t].window != static_cast<std::int64_t>(t)) return false;
    next *= a.window;
  }
  return true;
}

WeightsGradient::Part WeightsGradient::part_of(std::int64_t piece) const {
  const auto units = static_cast<std::int64_t>(units_.size());
  if (joins_) return {units * piece / pieces_, units * (piece + 1) / pieces_, 0, groups_.panels};
  return {0, units, groups_.panels * piece / pieces_, groups_.panels * (piece + 1) / pieces_};
}

std::vector<WeightsGradient::Rows> WeightsGradient::rows_of(std::int64_t piece) const {
  const Part p = part_of(piece);
  const std::int64_t first = groups_.first_row(p.first_group),
                     count = groups_.first_row(p.last_group) - first;
  if (count == unit_rows_)
    return {{p.first_unit * unit_rows_, (p.last_unit - p.first_unit) * unit_rows_}};
  std::vector<Rows> rows;
  for (std::int64_t u = p.first_unit; u < p.last_unit; ++u)
    rows.push_back({u * unit_rows_ + first, count});
  return rows;
}

std::int64_t WeightsGradient::source_at(std::int64_t image, std::int64_t z, std::int64_t y,
                                        std::int64_t x) const {
  const ConvAxis* a = shape_.axes;
  return (image * shape_.source_image + z * a[0].source + y * a[1].source + x * a[2].source) *
         size_;
}
std::int64_t WeightsGradient::destination_at(std::int64_t image, std::int64_t z, std::int64_t y,
                                             std::int64_t x) const {
  const ConvAxis* a = shape_.axes;
  return (image * shape_.destination_image + z * a[0].destination + y * a[1].destination +
          x * a[2].destination) *
         size_;
}

WeightsGradient::Chunk WeightsGradient::chunk_of_pixels(std::int64_t first_row, std::int64_t rows,
                                                        std::int64_t x, std::int64_t columns,
                                                        const Part& part) const {
  const ConvAxis* a = shape_.axes;
  Chunk chunk{};
  chunk.x = x, chunk.columns = columns, chunk.rows = rows;
  Range read = read_by(a[2], x, x + columns);
  if (!joins_) read = clipped(a[2], read);
  chunk.source_x = read.begin, chunk.source_columns = read.end - read.begin;
  for (std::int64_t row = first_row; row < first_row + rows;) {
    const std::int64_t y = row % a[1].out, plane = row / a[1].out,
                       count = std::min(a[1].out - y, first_row + rows - row);
    chunk.bands.push_back({plane / a[0].out, plane % a[0].out, y, count, row - first_row});
    row += count;
  }
  if (joins_ || copies_source_) find_copied(chunk);
  chunk.runs.resize(units_.size());
  for (std::int64_t u = part.first_unit; u < part.last_unit; ++u)
    find_runs(chunk, static_cast<std::size_t>(u));
  return chunk;
}

// Sets the locations of the copied rows that a chunk reads.
void WeightsGradient::find_copied(Chunk& chunk) const {
  const ConvAxis* a = shape_.axes;
  for (const Band& band : chunk.bands) {
    const Range y = clipped(a[1], read_by(a[1], band.y, band.y + band.rows));
    for (const ConvTap& tap : a[0].taps) {
      const std::int64_t z = band.z * a[0].step + tap.offset;
      Copied c;
      c.z = z, c.y = y.begin, c.at = chunk.copied_bytes;
      c.rows = z >= 0 && z < a[0].in ? y.end - y.begin : 0;
      chunk.copied_bytes += c.rows * chunk.source_columns * pixel_;
      chunk.copied.push_back(c);
    }
  }
}

// The runs of a unit, in the order of pixels.
void WeightsGradient::find_runs(Chunk& chunk, std::size_t unit) const {
  const ConvAxis* a = shape_.axes;
  const Unit& u = units_[unit];
  const std::int64_t end = chunk.x + chunk.columns;
  const Range x = joins_ ? Range{chunk.x, end} : inside(a[2], u.offset, chunk.x, end);
  const std::int64_t steps = x.end - x.begin, source_x = x.begin * a[2].step + u.offset,
                     b_step = copies_destination_ ? width() * size_ : a[2].destination * size_;
  std::vector<StepRun>& runs = chunk.runs[unit];
  auto continues = [&](const StepRun& before, const StepRun& run) {
    return run.a == before.a + before.steps * a[2].step * pixel_ &&
           run.b == before.b + before.steps * b_step;
  };
  if (steps == 0) return;
  for (std::size_t i = 0; i < chunk.bands.size(); ++i) {
    const Band& band = chunk.bands[i];
    const std::int64_t z = band.z * a[0].step + a[0].taps[u.z].offset;
    if (z < 0 || z >= a[0].in) continue;
    const Range y = inside(a[1], u.y, band.y, band.y + band.rows);
    for (std::int64_t row = y.begin; row < y.end; ++row) {
      StepRun run{0, 0, steps};
      const std::int64_t source_y = row * a[1].step + u.y;
      if (joins_ || copies_source_) {
        const Copied& c = chunk.copied[i * a[0].taps.size() + u.z];
        run.a =
            c.at + ((source_y - c.y) * chunk.source_columns + source_x - chunk.source_x) * pixel_;
      } else {
        run.a = source_at(band.image, z, source_y, source_x);
      }
      run.b = copies_destination_
                  ? ((band.first + row - band.y) * chunk.columns + x.begin - chunk.x) * b_step
                  : destination_at(band.image, band.z, row, x.begin);
      if (!runs.empty() && continues(runs.back(), run))
        runs.back().steps += steps;
      else
        runs.push_back(run);
    }
  }
}

// Whether no sum of a piece is NaN. A product of padding and an infinite or NaN element is NaN, and
// so is every sum that contains it.
bool WeightsGradient::finite(const void* sums, std::int64_t piece) const {
  auto check = [&]<class T>(const T* x) {
    for (const Rows& r : rows_of(piece)) {
      const T* row = x + r.first * columns();
      bool odd = false;
      for (std::int64_t i = 0; i < r.count * columns(); ++i) odd |= row[i] != row[i];
      if (odd) return false;
    }
    return true;
  };
  return size_ == 8 ? check(static_cast<const double*>(sums))
                    : check(static_cast<const float*>(sums));
}

void WeightsGradient::run(const void* source, const void* destination, void* sums,
                          std::int64_t piece) const {
  const Part part = part_of(piece);
  const auto *from = static_cast<const char*>(source), *by = static_cast<const char*>(destination);
  auto* to = static_cast<char*>(sums);
  accumulate(from, by, to, part);
  if (!without_padding_ || finite(sums, piece)) return;
  const auto each = static_cast<std::int64_t>(shape_.axes[2].taps.size());
  without_padding_->accumulate(
      from, by, to,
      {part.first_unit * each, part.last_unit * each, 0, without_padding_->groups_.panels});
}

void WeightsGradient::accumulate(const char* source, const char* destination, char* sums,
                                 const Part& part) const {
  const ConvAxis* a = shape_.axes;
  const std::int64_t rows = images_ * a[0].out * a[1].out, pixels = chunks_.rows * chunks_.columns,
                     together = width() * std::max<std::int64_t>(
                                              1, static_cast<std::int64_t>(machine::kProductBytes) /
                                                     (pixels * width() * size_));
  End end = End::store;
  for (std::int64_t row = 0; row < rows; row += chunks_.rows)
    for (std::int64_t x = 0; x < a[2].out; x += chunks_.columns, end = End::add) {
      const Chunk chunk = chunk_of_pixels(row, std::min(chunks_.rows, rows - row), x,
                                          std::min(chunks_.columns, a[2].out - x), part);
      char* copy = kept_memory(
          static_cast<std::size_t>(std::max<std::int64_t>(1, chunk.copied_bytes)), kSourceMemory);
      if (joins_) copy_windows(chunk, source, copy);
      for (std::int64_t column = 0; column < columns(); column += together) {
        const std::int64_t some = std::min(together, columns() - column);
        const char* b = destination + column * shape_.destination_channel * size_;
        if (copies_destination_) {
          char* panels = kept_memory(static_cast<std::size_t>(chunk.rows * chunk.columns *
                                                              round_up(some, width()) * size_),
                                     kDestinationMemory);
          copy_pixels(chunk, b, some, panels);
          b = panels;
        }
        for (std::int64_t group = part.first_group; group < part.last_group; ++group) {
          const std::int64_t first = groups_.first_row(group);
          const char* from = joins_ ? copy + first * size_ : source + first * size_;
          if (copies_source_) {
            copy_channels(chunk, source, group, copy);
            from = copy;
          }
          multiply(chunk, from, b, group, part, column, some, end, sums);
        }
      }
    }
}

void WeightsGradient::multiply(const Chunk& chunk, const char* a, const char* b, std::int64_t group,
                               const Part& part, std::int64_t column, std::int64_t columns, End end,
                               char* sums) const {
  const ConvAxis& row = shape_.axes[2];
  const OfHeight& kernels = kernels_[static_cast<std::size_t>(groups_.of(group))];
  const std::int64_t tiles = columns / width(), rest = columns % width();
  TileArgs args{};
  args.a = a;
  args.a_step = row.step * pixel_;
  if (copies_destination_) {
    args.b_step = width() * size_;
    args.b_tile = chunk.rows * chunk.columns * args.b_step;
  } else {
    args.b_step = row.destination * size_;
    args.b_tile = width() * size_;
    args.b_ahead = kStepsAhead * args.b_step;
  }
  args.c_row = shape_.outputs * size_;
  args.end = end;
  args.lanes = rest % lanes_;
  for (std::int64_t u = part.first_unit; u < part.last_unit; ++u) {
    const auto unit = static_cast<std::size_t>(u);
    args.runs = chunk.runs[unit].data();
    args.k = static_cast<std::int64_t>(chunk.runs[unit].size());
    args.b = b;
    args.c =
        sums +
        ((units_[unit].first_row + groups_.first_row(group)) * shape_.outputs + column) * size_;
    args.tiles = tiles;
    if (tiles) kernels.whole(&args);
    if (!rest) continue;
    args.b = b + tiles * args.b_tile;
    args.c = static_cast<char*>(args.c) + tiles * width() * size_;
    args.tiles = 1;
    kernels.last[parts_of(rest, lanes_) - 1][rest % lanes_ != 0](&args);
  }
}

}  // namespace tessera::inline v0::codegen::matrix
