// The copies that a convolution as a matrix product makes: packed weights, a channels-last source,
// rows of the im2col matrix, and results in other layouts.
#include "codegen/matrix/convolution.h"
#include "codegen/matrix/kept_memory.h"
#include "codegen/matrix/sizes.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tessera::inline v0::codegen::matrix {

namespace {

// The numbers of the thread's memories (kept_memory.h) that hold a panel of weights, and a
// transposed source.
constexpr int kPanelMemory = 1, kTurnedMemory = 3;

typedef char SixteenBytes __attribute__((vector_size(16), aligned(1), may_alias));

// Runs are often too short for a call of memcpy to pay.
inline void copy_bytes(char* to, const char* from, std::int64_t bytes) {
  constexpr std::int64_t kShort = 128;
  if (bytes > kShort) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  auto vector = [&](std::int64_t i) {
    *reinterpret_cast<SixteenBytes*>(to + i) = *reinterpret_cast<const SixteenBytes*>(from + i);
  };
  if (bytes >= 16) {
    for (std::int64_t i = 0; i + 16 <= bytes; i += 16) vector(i);
    vector(bytes - 16);
    return;
  }
  for (std::int64_t i = 0; i < bytes; i += 4) std::memcpy(to + i, from + i, 4);
}
inline void clear_bytes(char* to, std::int64_t bytes) {
  std::memset(to, 0, static_cast<std::size_t>(bytes));
}

// Whether none of the elements is infinite or NaN, a vector at a time.
template <class T>
bool all_finite(const T* x, std::int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  typedef Bits Lanes __attribute__((vector_size(16), aligned(4), may_alias));
  constexpr std::int64_t kLanes = 16 / static_cast<std::int64_t>(sizeof(T));
  constexpr Bits kExponent =
      sizeof(T) == 8 ? static_cast<Bits>(std::int64_t{0x7ff} << 52) : static_cast<Bits>(0x7f800000);
  Lanes odd = {}, odd2 = {};
  std::int64_t i = 0;
  auto check = [&](std::int64_t at) {
    return (*reinterpret_cast<const Lanes*>(x + at) & kExponent) == kExponent;
  };
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    odd |= check(i);
    odd2 |= check(i + kLanes);
  }
  odd |= odd2;
  bool finite = true;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) finite &= odd[lane] == 0;
  for (; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, x + i, sizeof bits);
    finite &= (bits & kExponent) != kExponent;
  }
  return finite;
}

// Moves one element, for layouts that no kernel supports.
void move_element(char* to, const char* from, std::int64_t size) {
  std::memcpy(to, from, static_cast<std::size_t>(size == 8 ? 8 : 4));
}

// The number of lines of `length` elements that a task packs.
std::int64_t packed_together(std::int64_t length, std::int64_t multiple) {
  constexpr std::int64_t kElements = 1 << 16;
  return round_up(std::max<std::int64_t>(1, kElements / length), multiple);
}

}  // namespace

std::int64_t Convolution::panel_bytes() const {
  return weights_in_place_ ? 0 : round_up(shape_.outputs, width()) * terms_ * size_;
}

// A task packs some steps of all panels, where the columns of a step are adjacent in memory, and
// all steps of some panels elsewhere. If weights are read in place, it only checks some steps for
// infinite and NaN weights.
std::int64_t Convolution::pack_tasks() const {
  if (terms_ == 0 || (weights_in_place_ && !pads_)) return 0;
  if (packs_steps_) return parts_of(terms_, packed_together(shape_.outputs, kPackedSteps));
  return parts_of(shape_.outputs, packed_together(terms_, width()));
}

std::size_t Convolution::packed_bytes() const {
  return static_cast<std::size_t>(panel_bytes() +
                                  pack_tasks() * std::int64_t{sizeof(std::int64_t)});
}

std::string Convolution::packed_key() const {
  std::string key = to_string(shape_.dtype);
  for (const std::int64_t part :
       {std::int64_t{weights_in_place_}, std::int64_t{pads_}, width(), shape_.inputs,
        shape_.outputs, shape_.weights_input, shape_.weights_output})
    key += " " + std::to_string(part);
  for (const ConvAxis& a : shape_.axes) {
    key += ", " + std::to_string(a.weights) + " at";
    for (const ConvTap& tap : a.taps) key += " " + std::to_string(tap.window);
  }
  return key;
}

void Convolution::pack(const void* weights, void* to, std::int64_t task) const {
  const ConvShape& s = shape_;
  auto finite = [&](const char* x, std::int64_t count) {
    return size_ == 8 ? all_finite(reinterpret_cast<const double*>(x), count)
                      : all_finite(reinterpret_cast<const float*>(x), count);
  };
  auto* odd = reinterpret_cast<std::int64_t*>(static_cast<char*>(to) + panel_bytes());
  odd[task] = 0;
  if (packs_steps_) {
    const std::int64_t together = packed_together(s.outputs, kPackedSteps), begin = task * together,
                       end = std::min(terms_, begin + together);
    each_run(begin, end, [&](std::int64_t start, std::int64_t k, std::int64_t steps) {
      const char* at = static_cast<const char*>(weights) + start * size_;
      if (pads_)
        for (std::int64_t i = 0; i < steps; ++i)
          odd[task] |= !finite(at + i * s.weights_input * size_, s.outputs);
      if (weights_in_place_) return;
      // Rows of the weights are read in long pieces.
      for (std::int64_t i = 0; i < steps; i += kPackedSteps)
        pack_run(at + i * s.weights_input * size_, static_cast<char*>(to), k + i,
                 std::min(kPackedSteps, steps - i), s.outputs);
    });
    return;
  }
  const std::int64_t columns = packed_together(terms_, width()), first = task * columns,
                     count = std::min(columns, s.outputs - first);
  auto* panels = static_cast<char*>(to) + first * terms_ * size_;
  const auto* from = static_cast<const char*>(weights) + first * s.weights_output * size_;
  const ConvAxis* a = s.axes;
  // The window of an output and input is one run in memory.
  const bool runs = taps_ > 1 && (a[2].window == 1 || a[2].weights == 1) &&
                    (a[1].window == 1 || a[1].weights == a[2].window) &&
                    (a[0].window == 1 || a[0].weights == a[2].window * a[1].window) &&
                    s.weights_input == a[0].window * a[1].window * a[2].window && s.outputs > 1;
  if (runs) {
    pack_windows(from, panels, count);
  } else {
    each_run(0, terms_, [&](std::int64_t start, std::int64_t k, std::int64_t steps) {
      pack_run(from + start * size_, panels, k, steps, count);
    });
  }
  if (pads_)
    for (std::int64_t column = 0; column < count && !odd[task]; column += width()) {
      // The last panel may have columns that do not exist.
      const std::int64_t exist = std::min(width(), count - column);
      const char* panel = panels + column * terms_ * size_;
      const std::int64_t step = exist == width() ? terms_ : 1;
      for (std::int64_t k = 0; k < terms_; k += step) {
        const char* x = panel + k * width() * size_;
        const std::int64_t n = step == 1 ? exist : step * width();
        odd[task] |= !finite(x, n);
      }
    }
}

// Calls f(start, k, steps) for each evenly spaced run of the steps [begin, end) in the weights: the
// steps of a tap, or of several taps that continue each other.
template <class F>
void Convolution::each_run(std::int64_t begin, std::int64_t end, F f) const {
  const ConvShape& s = shape_;
  std::int64_t k = 0, start = 0, steps = 0, first = 0;
  auto flush = [&] {
    const std::int64_t from = std::max(begin, first), to = std::min(end, first + steps);
    if (from < to) f(start + (from - first) * s.weights_input, from, to - from);
    steps = 0;
  };
  for (const ConvTap& z : s.axes[0].taps)
    for (const ConvTap& y : s.axes[1].taps)
      for (const ConvTap& x : s.axes[2].taps) {
        const std::int64_t at = z.window * s.axes[0].weights + y.window * s.axes[1].weights +
                                x.window * s.axes[2].weights;
        if (steps && at != start + steps * s.weights_input) flush();
        if (!steps) start = at, first = k;
        steps += s.inputs, k += s.inputs;
      }
  if (steps) flush();
}

// Packs steps from the k-th on of some columns, whose first panel is at `to`.
void Convolution::pack_run(const char* weights, char* to, std::int64_t k, std::int64_t steps,
                           std::int64_t columns) const {
  const ConvShape& s = shape_;
  PackArgs args{};
  args.from_step = s.weights_input * size_;
  args.from_line = s.weights_output * size_;
  args.from_panel = width() * args.from_line;
  args.to_step = width() * size_;
  args.to_panel = terms_ * args.to_step;
  args.steps = steps;
  const bool lines = pack_lines_ != nullptr;
  const PackKernel one = lines ? pack_lines_ : s.weights_input == 1 ? pack_steps_ : pack_neither_;
  auto call = [&](PackKernel kernel, std::int64_t column, std::int64_t panels, std::int64_t count) {
    args.from = weights + column * s.weights_output * size_;
    args.to = to + (column / width() * width() * terms_ + k * width() + column % width()) * size_;
    args.panels = panels;
    args.lines = count;
    if (panels > 0 && count > 0) kernel(&args);
  };
  const std::int64_t whole = columns / width();
  if (lines) {
    call(pack_lines2_, 0, whole, lanes_);
  } else {
    call(one, 0, whole, lanes_);
    call(one, lanes_, whole, lanes_);
  }
  for (std::int64_t column = whole * width(); column < columns; column += lanes_)
    call(one, column, 1, std::min<std::int64_t>(lanes_, columns - column));
}

// Windows that are contiguous in memory are transposed as a whole, some inputs at a time, and then
// copied to the rows of the panel in their order.
void Convolution::pack_windows(const char* weights, char* to, std::int64_t columns) const {
  const ConvShape& s = shape_;
  const std::int64_t window = s.weights_input, vector = lanes_ * size_;
  std::vector<std::int64_t> taps;  // positions in the window
  for (const ConvTap& z : s.axes[0].taps)
    for (const ConvTap& y : s.axes[1].taps)
      for (const ConvTap& x : s.axes[2].taps)
        taps.push_back(z.window * s.axes[0].weights + y.window * s.axes[1].weights +
                       x.window * s.axes[2].weights);
  constexpr std::int64_t kBytes = 1 << 15;
  const std::int64_t together =
      std::max<std::int64_t>(lanes_, kBytes / (window * vector) / lanes_ * lanes_);
  char* turned = kept_memory(static_cast<std::size_t>(together * window * vector), kPanelMemory);
  PackArgs args{};
  args.from_step = size_;
  args.from_line = s.weights_output * size_;
  args.to = turned;
  args.to_step = vector;
  args.panels = 1;
  for (std::int64_t column = 0; column < columns; column += lanes_)
    for (std::int64_t input = 0; input < s.inputs; input += together) {
      const std::int64_t inputs = std::min(together, s.inputs - input);
      args.from = weights + (column * s.weights_output + input * window) * size_;
      args.steps = inputs * window;
      args.lines = std::min<std::int64_t>(lanes_, columns - column);
      pack_steps_(&args);
      char* panel = to + (column / width() * width() * terms_ + column % width()) * size_;
      for (std::size_t t = 0; t < taps.size(); ++t) {
        const char* from = turned + taps[t] * vector;
        char* out = panel + (static_cast<std::int64_t>(t) * s.inputs + input) * width() * size_;
        for (std::int64_t i = 0; i < inputs; ++i)
          for (std::int64_t b = 0; b < vector; b += 16)
            *reinterpret_cast<SixteenBytes*>(out + i * width() * size_ + b) =
                *reinterpret_cast<const SixteenBytes*>(from + i * window * vector + b);
      }
    }
}

// The rows of the source that some pixels of one image read, with adjacent channels.
Convolution::Source Convolution::turn_source(const char* source, std::int64_t first,
                                             std::int64_t rows) const {
  const ConvShape& s = shape_;
  const ConvAxis* a = s.axes;
  const Position p = position(first), last = position(first + rows - 1);
  auto range = [](const ConvAxis& axis, std::int64_t begin, std::int64_t end) {
    if (axis.taps.empty()) return std::pair<std::int64_t, std::int64_t>{0, 0};
    return std::pair{
        std::clamp<std::int64_t>(begin * axis.step + axis.taps.front().offset, 0, axis.in),
        std::clamp<std::int64_t>(end * axis.step + axis.taps.back().offset + 1, 0, axis.in)};
  };
  const auto z = range(a[0], p.z, last.z);
  const auto y = p.z == last.z ? range(a[1], p.y, last.y) : range(a[1], 0, a[1].out - 1);
  const std::int64_t of_plane = std::max<std::int64_t>(0, y.second - y.first) * row_,
                     slack = lanes_;
  char* to =
      kept_memory(static_cast<std::size_t>(
                      (std::max<std::int64_t>(0, z.second - z.first) * of_plane + slack) * size_),
                  kTurnedMemory);
  const char* image = source + p.image * s.source_image * size_;
  for (std::int64_t iz = z.first; iz < z.second; ++iz)
    turn_rows(image + (iz * a[0].source + y.first * a[1].source) * size_,
              std::max<std::int64_t>(0, y.second - y.first),
              to + (iz - z.first) * of_plane * size_);
  // Strides of the copy, by which positions in the image become positions in the copy.
  return {to - (z.first * of_plane + y.first * row_) * size_, 0, of_plane * size_, row_ * size_,
          pixel_ * size_};
}

std::size_t Convolution::turned_bytes() const {
  // Otherwise, tasks that read the same pixels would each transpose them.
  if (!turns_source_ || column_pieces_ == 1) return 0;
  return static_cast<std::size_t>((shape_.batch * shape_.axes[0].in * plane_ + lanes_) * size_);
}

void Convolution::turn(const void* source, void* turned, std::int64_t image) const {
  const ConvAxis* a = shape_.axes;
  for (std::int64_t z = 0; z < a[0].in; ++z)
    turn_rows(
        static_cast<const char*>(source) + (image * shape_.source_image + z * a[0].source) * size_,
        a[1].in, static_cast<char*>(turned) + (image * a[0].in + z) * plane_ * size_);
}

// Some rows of a plane, with adjacent channels.
void Convolution::turn_rows(const char* from, std::int64_t rows, char* to) const {
  const ConvShape& s = shape_;
  const ConvAxis* a = s.axes;
  // Contiguous rows are transposed as one.
  const bool adjacent = a[1].source == a[2].in * a[2].source;
  const std::int64_t together = adjacent ? std::max<std::int64_t>(1, rows) : 1,
                     count = together * a[2].in;
  for (std::int64_t row = 0; row < rows;
       row += together, from += together * a[1].source * size_, to += together * row_ * size_) {
    if (a[2].source == 1 && s.inputs >= lanes_) {
      PackArgs args{};
      args.from_step = size_;
      args.from_line = s.source_channel * size_;
      args.from_panel = lanes_ * args.from_line;
      args.to_step = pixel_ * size_;
      args.to_panel = lanes_ * size_;
      // A few pixels are written at a time, with all their channels, while their cache lines are in
      // the nearest cache.
      constexpr std::int64_t kPixels = 64;
      for (std::int64_t i = 0; i < count; i += kPixels) {
        args.steps = std::min(kPixels, count - i);
        args.from = from + i * size_;
        args.to = to + i * args.to_step;
        args.panels = s.inputs / lanes_;
        args.lines = lanes_;
        pack_steps_(&args);
        if (s.inputs % lanes_ == 0) continue;
        args.from = static_cast<const char*>(args.from) + args.panels * args.from_panel;
        args.to = static_cast<char*>(args.to) + args.panels * args.to_panel;
        args.panels = 1;
        args.lines = s.inputs % lanes_;
        pack_steps_(&args);
      }
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t c = 0; c < s.inputs; ++c)
        move_element(to + (i * pixel_ + c) * size_,
                     from + (i * a[2].source + c * s.source_channel) * size_, size_);
  }
}

void Convolution::copy_rows(const Source& source, const Chunk& chunk, std::int64_t first,
                            std::int64_t rows, char* to) const {
  const ConvAxis* a = shape_.axes;
  const std::int64_t step_x = a[2].step * source.x, end = a[2].in * source.x;
  Position p = position(first);
  for (std::int64_t r = 0; r < rows; ++r, to += a_row_, advance(p)) {
    const char* image = source.at + p.image * source.image;
    const std::int64_t z = p.z * a[0].step, y = p.y * a[1].step, x = p.x * step_x;
    for (const Segment& s : chunk.segments) {
      char* out = to + s.to;
      const std::int64_t iz = z + s.z, iy = y + s.y;
      if (iz < 0 || iz >= a[0].in || iy < 0 || iy >= a[1].in) {
        clear_bytes(out, s.bytes);
        continue;
      }
      const char* row = image + iz * source.z + iy * source.y;
      const std::int64_t begin = x + s.start;
      if (begin >= 0 && begin + s.bytes <= end) [[likely]] {
        copy_bytes(out, row + begin, s.bytes);
        continue;
      }
      const std::int64_t low = std::clamp<std::int64_t>(-begin, 0, s.bytes),
                         high = std::clamp<std::int64_t>(end - begin, low, s.bytes);
      clear_bytes(out, low);
      copy_bytes(out + low, row + begin + low, high - low);
      clear_bytes(out + high, s.bytes - high);
    }
  }
}

void Convolution::write_rows(const char* sums, std::int64_t sums_row, char* destination,
                             std::int64_t first, std::int64_t rows, std::int64_t column,
                             std::int64_t columns) const {
  const ConvShape& s = shape_;
  const ConvAxis* a = s.axes;
  // Pixels are evenly spaced across the dimensions that continue the one inside them.
  std::int64_t even = 1, pixel = 1;
  for (int i = 2; i >= 0; --i) {
    if (a[i].out == 1) continue;
    if (even == 1) pixel = a[i].destination;
    if (a[i].destination != pixel * even) break;
    even *= a[i].out;
  }
  Position p = position(first);
  std::int64_t run = 1;
  for (std::int64_t r = 0; r < rows; r += run) {
    char* to = destination +
               (p.image * s.destination_image + p.z * a[0].destination + p.y * a[1].destination +
                p.x * a[2].destination + column * s.destination_channel) *
                   size_;
    const char* from = sums + r * sums_row;
    run = std::min(even - (first + r) % even, rows - r);
    std::int64_t done = 0;
    if (s.destination_channel == 1) {
      for (; done < run; ++done)
        copy_bytes(to + done * pixel * size_, from + done * sums_row, columns * size_);
    } else if (pixel == 1 && run >= lanes_) {
      PackArgs args{};
      args.from = from;
      args.to = to;
      args.from_step = size_;
      args.from_line = sums_row;
      args.from_panel = lanes_ * sums_row;
      args.to_step = s.destination_channel * size_;
      args.to_panel = lanes_ * size_;
      args.steps = columns;
      args.panels = run / lanes_;
      args.lines = lanes_;
      pack_steps_(&args);
      done = args.panels * lanes_;
    }
    // Some pixels are copied at a time, so that neighbours in the result are written one after the
    // other.
    constexpr std::int64_t kTogether = 16;
    for (; done < run; done += kTogether)
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t i = done; i < std::min(run, done + kTogether); ++i)
          move_element(to + (i * pixel + c * s.destination_channel) * size_,
                       from + i * sums_row + c * size_, size_);
    p = position(first + r + run);
  }
}

}  // namespace tessera::inline v0::codegen::matrix
