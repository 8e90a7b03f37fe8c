#include "codegen/matrix/convolution.h"

#include "base/machine.h"
#include "codegen/kernel/isa.h"
#include "codegen/matrix/kept_memory.h"
#include "codegen/matrix/product.h"
#include "codegen/matrix/sizes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera::inline v0::codegen::matrix {

namespace {

constexpr std::int64_t kLine = 64;
// The numbers of pixels and of panels up to which reading weights in place costs less than packing
// them.
constexpr std::int64_t kPixelsInPlace = 128;
// Bytes of copied rows that fit the second-level cache together with panels of weights.
constexpr std::int64_t kCopiedBytes = 1 << 17;
// Fewer tiles would read the weights too often.
constexpr std::int64_t kLeastPanelTiles = 4;
// The numbers of the thread's memories (kept_memory.h) that hold copied rows and sums.
constexpr int kRowsMemory = 0, kSumsMemory = 2;

}  // namespace

Convolution::Convolution(const ConvShape& shape, std::int64_t tasks, bool keeps,
                         std::int64_t block_bytes)
    : shape_(shape),
      lanes_(lanes_of(shape.dtype)),
      size_(static_cast<std::int64_t>(size_of(shape.dtype))),
      block_bytes_(block_bytes) {
  const ConvAxis* a = shape_.axes;
  image_pixels_ = a[0].out * a[1].out * a[2].out;
  pixels_ = shape_.batch * image_pixels_;
  taps_ = static_cast<std::int64_t>(a[0].taps.size() * a[1].taps.size() * a[2].taps.size());
  terms_ = taps_ * shape_.inputs;
  for (const ConvAxis& axis : shape_.axes)
    for (const ConvTap& tap : axis.taps)
      pads_ |= tap.offset < 0 || (axis.out - 1) * axis.step + tap.offset >= axis.in;
  find_layouts();
  if (keeps) weights_in_place_ = false;
  find_windows();
  cut_chunks();
  if (by_windows_) find_runs();
  cut_tasks(tasks);
  find_kernels();
}

void Convolution::find_layouts() {
  const ConvShape& s = shape_;
  const ConvAxis* a = s.axes;
  turns_source_ = s.source_channel != 1 && s.inputs > 1;
  if (turns_source_) {
    pixel_ = s.inputs < lanes_ ? s.inputs : round_up(s.inputs, lanes_);
    row_ = a[2].in * pixel_;
    plane_ = a[1].in * row_;
  } else {
    pixel_ = a[2].source, row_ = a[1].source, plane_ = a[0].source;
  }
  // Pixels are evenly spaced if each dimension continues the one inside it. A dimension of one
  // point always does.
  auto even = [&](std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t image) {
    std::int64_t next = x;
    bool fits = true;
    const std::int64_t distances[] = {x, y, z, image},
                       counts[] = {a[2].out, a[1].out, a[0].out, s.batch};
    std::int64_t step = 0;
    for (int i = 0; i < 4; ++i) {
      if (counts[i] == 1) continue;
      if (step == 0) step = next = distances[i];
      fits &= distances[i] == next;
      next = distances[i] * counts[i];
    }
    return fits ? std::max<std::int64_t>(step, 1) : 0;
  };
  bool whole = taps_ == 1 && !pads_ && !turns_source_;
  for (const ConvAxis& axis : s.axes)
    whole &= axis.out == 1 || (axis.step == 1 && axis.in == axis.out);
  for (const ConvAxis& axis : s.axes) whole &= axis.taps.empty() || axis.taps[0].offset == 0;
  const std::int64_t row = even(a[2].source, a[1].source, a[0].source, s.source_image);
  in_place_ = whole && row >= s.inputs && row * size_ % kPage != 0;
  if (in_place_) a_row_ = row * size_;
  packs_steps_ = s.weights_output == 1 || s.outputs == 1;
  weights_in_place_ = s.weights_output == 1 && terms_ > 0 && pixels_ <= kPixelsInPlace &&
                      parts_of(pixels_, most_rows()) <= kPanelsInPlace &&
                      (s.weights_input * size_ % kPage != 0 || pixels_ <= 2 * most_rows());
  std::int64_t steps = 0;  // the steps of all taps are evenly spaced
  for (const ConvTap& z : a[0].taps)
    for (const ConvTap& y : a[1].taps)
      for (const ConvTap& x : a[2].taps)
        weights_in_place_ &=
            z.window * a[0].weights + y.window * a[1].weights + x.window * a[2].weights ==
            s.inputs * s.weights_input * steps++;
  direct_row_ = even(a[2].destination, a[1].destination, a[0].destination, s.destination_image);
  direct_ = s.destination_channel == 1 && direct_row_ >= s.outputs && terms_ > 0;
}

void Convolution::cut_chunks() {
  const ConvShape& s = shape_;
  const std::int64_t chunk = chunk_of(terms_);
  for (std::int64_t k = 0; k < terms_; k += chunk)
    chunks_.push_back({k, std::min(chunk, terms_ - k), {}});
  if (in_place_) return;
  a_row_ = round_up(std::min(chunk, terms_) * size_, kLine);
  if (a_row_ / kLine % 2 == 0) a_row_ += kLine;
  const auto& columns = s.axes[2].taps;
  const std::int64_t pixel = by_windows_ ? window_pixel_ / size_ : pixel_;
  bool adjacent = pixel == s.inputs;
  for (std::size_t i = 1; i < columns.size(); ++i)
    adjacent &= columns[i].offset == columns[i - 1].offset + 1;
  const std::int64_t run =
      adjacent ? s.inputs * static_cast<std::int64_t>(columns.size()) : s.inputs;
  std::int64_t k = 0;
  for (const ConvTap& z : s.axes[0].taps)
    for (const ConvTap& y : s.axes[1].taps)
      for (std::size_t x = 0; x < columns.size(); x += adjacent ? columns.size() : 1, k += run)
        for (Chunk& c : chunks_) {
          const std::int64_t first = std::max(k, c.first),
                             last = std::min(k + run, c.first + c.terms);
          if (first < last)
            c.segments.push_back({z.offset, y.offset,
                                  (columns[x].offset * pixel + first - k) * size_,
                                  (first - c.first) * size_, (last - first) * size_});
        }
}

// A source that is transposed is divided within images or between them, so that a task transposes
// little more than it multiplies.
void Convolution::cut_tasks(std::int64_t tasks) {
  constexpr std::int64_t kLeastTiles = 3;
  const std::int64_t least = kLeastTiles * most_rows(),
                     row_tasks = std::clamp<std::int64_t>(pixels_ / least, 1, tasks);
  if (turns_source_ && row_tasks < shape_.batch) {
    images_ = parts_of(shape_.batch, row_tasks);
    pieces_ = parts_of(shape_.batch, images_);
    piece_ = image_pixels_;
  } else if (turns_source_) {
    const std::int64_t of_image = std::max<std::int64_t>(1, row_tasks / shape_.batch);
    piece_ = round_up(parts_of(image_pixels_, of_image), rows_together());
    pieces_ = shape_.batch * parts_of(image_pixels_, piece_);
  } else {
    piece_ = round_up(parts_of(pixels_, row_tasks), rows_together());
    pieces_ = parts_of(pixels_, piece_);
  }
  column_piece_ =
      round_up(parts_of(shape_.outputs, std::max<std::int64_t>(1, tasks / pieces_)), width());
  column_pieces_ = parts_of(shape_.outputs, column_piece_);
}

std::int64_t Convolution::block_of(std::int64_t rows) const {
  // The number of bytes that are copied for a row.
  const std::int64_t row =
      std::max<std::int64_t>(1, by_windows_ ? shape_.axes[1].step * window_row_ / shape_.axes[2].out
                                            : chunk_of(terms_) * size_);
  std::int64_t tiles = std::max<std::int64_t>(2, kCopiedBytes / row / most_rows());
  if (block_bytes_)
    tiles = std::min(
        tiles, std::max(kLeastPanelTiles, block_bytes_ / (column_piece_ * size_) / most_rows()));
  const std::int64_t together = rows_together(),
                     most = std::max(together, tiles * most_rows() / together * together);
  return round_up(parts_of(rows, parts_of(rows, most)), together);
}

// The last task may have fewer rows and larger blocks than the others.
std::int64_t Convolution::panel_rows() const {
  const std::int64_t rest = pixels_ % piece_;
  return std::max(block_of(std::min(piece_, pixels_)), rest ? block_of(rest) : 0);
}

void Convolution::find_kernels() {
  const DType dtype = shape_.dtype;
  kernels_.resize(static_cast<std::size_t>(most_rows()) + 1);
  const std::int64_t all = turns_source_ ? image_pixels_ : pixels_;
  if (by_windows_) prepare_rows(shape_.axes[2].out);
  for (std::int64_t rows : {std::min(piece_, all), all % piece_})
    if (rows && !by_windows_) {
      const std::int64_t block = block_of(rows);
      prepare_rows(std::min(block, rows));
      if (rows % block) prepare_rows(rows % block);
    }
  if (packs_steps_) {
    pack_lines_ = pack_kernel({dtype, {dtype}, true, Adjacent::lines});
    pack_lines2_ = pack_kernel({dtype, {dtype}, true, Adjacent::lines, 2});
  } else {
    pack_neither_ = pack_kernel({dtype, {dtype}, true, Adjacent::neither});
  }
  if (!packs_steps_ || turns_source_ || !direct_)
    pack_steps_ = pack_kernel({dtype, {dtype}, true, Adjacent::steps});
}

void Convolution::prepare_rows(std::int64_t rows) {
  const Heights heights(rows);
  for (std::int64_t panel : {std::int64_t{0}, heights.panels - 1}) {
    const std::int64_t height = heights.of(panel);
    OfHeight& k = kernels_[static_cast<std::size_t>(height)];
    Tile whole{{shape_.dtype}, static_cast<int>(height), kTileVectors, false, ReadA::by_rows};
    whole.in_runs = by_windows_;
    if (shape_.outputs >= width() && !k.whole) k.whole = tile_kernel(whole);
    const std::int64_t rest = shape_.outputs % width();
    if (!rest) continue;
    Tile last = whole;
    last.vectors = static_cast<int>(parts_of(rest, lanes_));
    last.partial = rest % lanes_ != 0;
    TileKernel& kernel = k.last[last.vectors - 1][last.partial];
    if (!kernel) kernel = tile_kernel(last);
  }
}

Convolution::Position Convolution::position(std::int64_t pixel) const {
  const ConvAxis* a = shape_.axes;
  const std::int64_t image = pixel / image_pixels_, in = pixel % image_pixels_;
  return {image, in / (a[1].out * a[2].out), in / a[2].out % a[1].out, in % a[2].out};
}
void Convolution::advance(Position& p) const {
  const ConvAxis* a = shape_.axes;
  if (++p.x < a[2].out) return;
  p.x = 0;
  if (++p.y < a[1].out) return;
  p.y = 0;
  if (++p.z < a[0].out) return;
  p.z = 0;
  ++p.image;
}

Convolution::Panels Convolution::panels_from(const void* weights, const void* packed,
                                             std::int64_t column) const {
  if (weights_in_place_)
    return {static_cast<const char*>(weights) + column * size_, shape_.weights_input * size_,
            width() * size_, kStepsAhead * shape_.weights_input * size_};
  return {static_cast<const char*>(packed) + column * terms_ * size_, width() * size_,
          terms_ * width() * size_, 0};
}

Convolution::Source Convolution::source_in_place(const void* source) const {
  const ConvAxis* a = shape_.axes;
  return {static_cast<const char*>(source), shape_.source_image * size_, a[0].source * size_,
          a[1].source * size_, a[2].source * size_};
}

// Whether all weights are finite, as recorded by `pack`. Also true without padding, where it does
// not matter.
bool Convolution::finite_weights(const void* packed) const {
  const auto* odd =
      reinterpret_cast<const std::int64_t*>(static_cast<const char*>(packed) + panel_bytes());
  return !pads_ || std::all_of(odd, odd + pack_tasks(), [](std::int64_t o) { return !o; });
}

void Convolution::repair(const void* source, const void* weights, void* destination,
                         std::int64_t first, std::int64_t rows, std::int64_t column,
                         std::int64_t columns) const {
  auto compute = [&]<class T>(T) {
    without_padding(static_cast<const T*>(source), static_cast<const T*>(weights),
                    static_cast<T*>(destination), first, rows, column, columns);
  };
  size_ == 8 ? compute(double{}) : compute(float{});
}

bool Convolution::in_panels() const {
  return direct_ && !turns_source_ && direct_row_ == shape_.outputs;
}

void Convolution::run_in_panels(const void* source, const void* weights, const void* packed,
                                std::int64_t task, const std::function<void*(const Panel&)>& place,
                                const std::function<void(const Panel&)>& made) const {
  const std::int64_t column = task % column_pieces_ * column_piece_,
                     columns = std::min(column_piece_, shape_.outputs - column),
                     begin = task / column_pieces_ * piece_,
                     rows = std::min(piece_, pixels_ - begin), block = block_of(rows);
  const Panels panels = panels_from(weights, packed, column);
  const bool finite = finite_weights(packed);
  for (std::int64_t done = 0; done < rows; done += block) {
    const Panel panel{begin + done, column, std::min(block, rows - done), columns};
    // The address at which the whole result would begin.
    auto* to = reinterpret_cast<char*>(
        reinterpret_cast<std::uintptr_t>(place(panel)) -
        static_cast<std::uintptr_t>((panel.row * direct_row_ + column) * size_));
    run_rows(source_in_place(source), panels, to, panel.row, panel.m, column, columns);
    if (!finite) repair(source, weights, to, panel.row, panel.m, column, columns);
    made(panel);
  }
}

void Convolution::run(const void* source, const void* turned, const void* weights,
                      const void* packed, void* destination, std::int64_t task) const {
  const std::int64_t column = task % column_pieces_ * column_piece_,
                     columns = std::min(column_piece_, shape_.outputs - column),
                     piece = task / column_pieces_;
  const auto* from = static_cast<const char*>(source);
  const Panels panels = panels_from(weights, packed, column);
  auto* to = static_cast<char*>(destination);
  const bool finite = finite_weights(packed);
  auto rows = [&](const Source& s, std::int64_t first, std::int64_t count) {
    run_rows(s, panels, to, first, count, column, columns);
    if (!finite) repair(source, weights, destination, first, count, column, columns);
  };
  if (!turns_source_) {
    const std::int64_t first = piece * piece_;
    return rows(source_in_place(source), first, std::min(piece_, pixels_ - first));
  }
  if (turned) {
    const std::int64_t of_image = parts_of(image_pixels_, piece_), image = piece / of_image,
                       in_image = piece % of_image * piece_;
    const Source whole{static_cast<const char*>(turned), shape_.axes[0].in * plane_ * size_,
                       plane_ * size_, row_ * size_, pixel_ * size_};
    if (images_) {
      const std::int64_t first = piece * images_, last = std::min(shape_.batch, first + images_);
      for (std::int64_t i = first; i < last; ++i) rows(whole, i * image_pixels_, image_pixels_);
      return;
    }
    return rows(whole, image * image_pixels_ + in_image,
                std::min(piece_, image_pixels_ - in_image));
  }
  if (images_) {
    for (std::int64_t image = piece * images_;
         image < std::min(shape_.batch, (piece + 1) * images_); ++image)
      rows(turn_source(from, image * image_pixels_, image_pixels_), image * image_pixels_,
           image_pixels_);
    return;
  }
  const std::int64_t of_image = parts_of(image_pixels_, piece_),
                     in_image = piece % of_image * piece_,
                     first = piece / of_image * image_pixels_ + in_image,
                     count = std::min(piece_, image_pixels_ - in_image);
  rows(turn_source(from, first, count), first, count);
}

void Convolution::run_rows(const Source& source, const Panels& panels, char* destination,
                           std::int64_t first, std::int64_t rows, std::int64_t column,
                           std::int64_t columns) const {
  const std::int64_t block = block_of(rows), sums_row = round_up(columns, lanes_) + lanes_;
  std::vector<const char*> at;
  for (std::int64_t done = 0; done < rows; done += block) {
    const std::int64_t pixel = first + done, count = std::min(block, rows - done);
    char* c = direct_
                  ? destination + (pixel * direct_row_ + column) * size_
                  : kept_memory(static_cast<std::size_t>(count * sums_row * size_), kSumsMemory);
    const std::int64_t c_row = (direct_ ? direct_row_ : sums_row) * size_;
    if (by_windows_)
      copy_windows(source, pixel / shape_.axes[2].out, count / shape_.axes[2].out, at);
    if (chunks_.empty()) std::memset(c, 0, static_cast<std::size_t>(count * c_row));
    for (const Chunk& chunk : chunks_) {
      const char* a = source.at + pixel * a_row_ + chunk.first * size_;
      if (!in_place_ && !by_windows_) {
        char* copied = kept_memory(static_cast<std::size_t>(count * a_row_), kRowsMemory);
        copy_rows(source, chunk, pixel, count, copied);
        a = copied;
      }
      multiply(a, at, panels, chunk, count, columns, c, c_row);
    }
    if (!direct_) write_rows(c, c_row, destination, pixel, count, column, columns);
  }
}

// Like Product::multiply, with the packed weights of all chunks of a panel in sequence.
void Convolution::multiply(const char* a, const std::vector<const char*>& at, const Panels& b,
                           const Chunk& chunk, std::int64_t rows, std::int64_t columns, char* c,
                           std::int64_t c_row) const {
  const std::int64_t of_row = by_windows_ ? shape_.axes[2].out : rows;
  const Heights heights(of_row);
  TileArgs args{};
  args.a_step = by_windows_ ? shape_.axes[2].step * window_pixel_ : a_row_;
  args.b_step = b.step;
  args.b_tile = b.panel;
  args.b_ahead = b.ahead;
  args.c_row = c_row;
  args.runs = chunk.runs.data();
  args.k = by_windows_ ? static_cast<std::int64_t>(chunk.runs.size()) : chunk.terms;
  args.end = chunk.first ? End::add : End::store;
  const std::int64_t group =
      std::max<std::int64_t>(
          1, static_cast<std::int64_t>(machine::kProductBytes) / (chunk.terms * width() * size_)) *
      width();
  for (std::int64_t column = 0; column < columns; column += group) {
    const std::int64_t some = std::min(group, columns - column), tiles = some / width(),
                       rest = some % width();
    const char* panels = b.at + column / width() * b.panel + chunk.first * b.step;
    args.lanes = rest % lanes_;
    for (std::int64_t panel = 0; panel < rows / of_row * heights.panels; ++panel) {
      const std::int64_t i = panel % heights.panels, image_row = panel / heights.panels,
                         row = image_row * of_row + heights.first_row(i);
      const OfHeight& kernels = kernels_[static_cast<std::size_t>(heights.of(i))];
      args.a = by_windows_
                   ? at[static_cast<std::size_t>(image_row)] + heights.first_row(i) * args.a_step
                   : a + row * a_row_;
      args.b = panels;
      args.c = c + row * c_row + column * size_;
      args.tiles = tiles;
      if (tiles) kernels.whole(&args);
      if (!rest) continue;
      args.b = panels + tiles * args.b_tile;
      args.c = static_cast<char*>(args.c) + tiles * width() * size_;
      args.tiles = 1;
      kernels.last[parts_of(rest, lanes_) - 1][rest % lanes_ != 0](&args);
    }
  }
}

// Weights are not to be multiplied by padding, where an infinite weight would give NaN. If weights
// are not finite, the pixels whose windows reach into the padding are therefore computed again, in
// the same order but without the padding.
template <class T>
void Convolution::without_padding(const T* source, const T* weights, T* destination,
                                  std::int64_t first, std::int64_t rows, std::int64_t column,
                                  std::int64_t columns) const {
  const ConvShape& s = shape_;
  Position p = position(first);
  auto at = [&](int axis, std::int64_t out, const ConvTap& tap) {
    return out * s.axes[axis].step + tap.offset;
  };
  auto inside = [&](int axis, std::int64_t i) { return i >= 0 && i < s.axes[axis].in; };
  const bool fused = host_isa().fused;
  for (std::int64_t r = 0; r < rows; ++r, advance(p)) {
    const std::int64_t outs[] = {p.z, p.y, p.x};
    bool whole = true;
    for (int axis = 0; axis < 3; ++axis)
      for (const ConvTap& tap : s.axes[axis].taps) whole &= inside(axis, at(axis, outs[axis], tap));
    if (whole) continue;
    T* to = destination + p.image * s.destination_image + p.z * s.axes[0].destination +
            p.y * s.axes[1].destination + p.x * s.axes[2].destination;
    for (std::int64_t o = column; o < column + columns; ++o) {
      T total = 0, sum = 0;
      std::int64_t k = 0;
      std::size_t chunk = 0;
      for (const ConvTap& tz : s.axes[0].taps)
        for (const ConvTap& ty : s.axes[1].taps)
          for (const ConvTap& tx : s.axes[2].taps) {
            const std::int64_t z = at(0, p.z, tz), y = at(1, p.y, ty), x = at(2, p.x, tx);
            const bool reads = inside(0, z) && inside(1, y) && inside(2, x);
            const T* w = weights + tz.window * s.axes[0].weights + ty.window * s.axes[1].weights +
                         tx.window * s.axes[2].weights + o * s.weights_output;
            const T* v = source + p.image * s.source_image + z * s.axes[0].source +
                         y * s.axes[1].source + x * s.axes[2].source;
            for (std::int64_t i = 0; i < s.inputs; ++i, ++k) {
              if (chunk + 1 < chunks_.size() && k == chunks_[chunk + 1].first) {
                total = chunk++ ? total + sum : sum;
                sum = 0;
              }
              if (!reads) continue;
              const T a = v[i * s.source_channel], b = w[i * s.weights_input];
              sum = fused ? std::fma(a, b, sum) : sum + a * b;
            }
          }
      to[o * s.destination_channel] = chunk ? total + sum : sum;
    }
  }
}

}  // namespace tessera::inline v0::codegen::matrix
