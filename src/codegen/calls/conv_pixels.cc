// The inner loop keeps a tile of output channels and vectors of pixels in registers and adds one
// tap after the other. It is compiled for several processors and uses fused multiply-adds where
// they exist, as oneDNN does.
#include "codegen/calls/conv_pixels.h"

#include "base/machine.h"
#include "codegen/calls/squares.h"
#include "codegen/kernel/isa.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::inline v0::codegen {
namespace {

#define INLINE [[gnu::always_inline]] inline

using std::int64_t;

// Holds the sums, a row of pixel vectors and a weight in `count` registers of `bytes` bytes.
template <int bytes, int count>
struct Registers {
  typedef float Vector __attribute__((vector_size(bytes), aligned(4), may_alias));
  static constexpr int kLanes = bytes / 4, kChannels = count / 4;
  static constexpr int vectors(int channels) {
    return std::min(count / 4, (count - 1) / (channels + 1));
  }
};
using Narrow = Registers<16, 16>;
using Avx2 = Registers<32, 16>;
using Avx512 = Registers<64, 32>;

// Output channels that are computed together.
struct ChannelGroup {
  int channels = 0;
  int64_t first = 0;
};

// A band of `length` outputs, whose windows are adjacent in the planes, for the sums of one group.
struct PixelBand {
  const float* planes;
  const int64_t* taps;  // offsets of the taps from a window's start
  int64_t count;        // number of taps
  int64_t length;
};

template <class R, int channels>
INLINE void sum_group(const PixelBand& b, const float* weights, float* sums, int64_t stride) {
  using Vector = typename R::Vector;
  constexpr int kVectors = R::vectors(channels);
  for (int64_t q = 0; q < b.length; q += kVectors * R::kLanes) {
    Vector sum[channels][kVectors] = {};
    const float* w = weights;
    for (int64_t t = 0; t < b.count; ++t, w += channels) {
      const float* x = b.planes + q + b.taps[t];
      Vector v[kVectors];
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i) v[i] = *reinterpret_cast<const Vector*>(x + i * R::kLanes);
#pragma GCC unroll 8
      for (int c = 0; c < channels; ++c)
#pragma GCC unroll 8
        for (int i = 0; i < kVectors; ++i) sum[c][i] = sum[c][i] + v[i] * w[c];
    }
#pragma GCC unroll 8
    for (int c = 0; c < channels; ++c)
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i)
        *reinterpret_cast<Vector*>(sums + c * stride + q + i * R::kLanes) = sum[c][i];
  }
}

template <class R>
INLINE void sum_any(const PixelBand& b, int channels, const float* weights, float* sums,
                    int64_t stride) {
  switch (channels) {
    case 1: return sum_group<R, 1>(b, weights, sums, stride);
    case 2: return sum_group<R, 2>(b, weights, sums, stride);
    case 3: return sum_group<R, 3>(b, weights, sums, stride);
    case 4: return sum_group<R, 4>(b, weights, sums, stride);
    default: break;
  }
  if constexpr (R::kChannels > 4) switch (channels) {
      case 5: return sum_group<R, 5>(b, weights, sums, stride);
      case 6: return sum_group<R, 6>(b, weights, sums, stride);
      case 7: return sum_group<R, 7>(b, weights, sums, stride);
      case 8: return sum_group<R, 8>(b, weights, sums, stride);
      default: break;
    }
}

using Summing = void (*)(const PixelBand&, int channels, const float* weights, float* sums,
                         int64_t stride);
void sum_narrow(const PixelBand& b, int channels, const float* w, float* sums, int64_t stride) {
  sum_any<Narrow>(b, channels, w, sums, stride);
}
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void sum_avx2(const PixelBand& b, int channels, const float* w,
                                          float* sums, int64_t stride) {
  sum_any<Avx2>(b, channels, w, sums, stride);
}
[[gnu::target("avx512f,avx512vl,avx512dq")]] void sum_avx512(const PixelBand& b, int channels,
                                                             const float* w, float* sums,
                                                             int64_t stride) {
  sum_any<Avx512>(b, channels, w, sums, stride);
}
#endif

// A model of the inner loop on this processor, and of oneDNN's.
struct Loop {
  Summing run;
  int lanes, channels;
  int (*vectors)(int channels);
  double copy;  // time to copy one float, in units of one vector product
  // The lanes of oneDNN's channel vectors, and the relative time of its products for one, two or
  // more such vectors: with few vectors, too few independent sums are in flight.
  int library_channels;
  double library[3];
  double library_pixel;  // fixed cost of a pixel, in vector products

  template <class R>
  static Loop of(Summing run) {
    Loop l{};
    l.run = run;
    l.lanes = R::kLanes;
    l.channels = R::kChannels;
    l.vectors = [](int channels) { return R::vectors(channels); };
    return l;
  }
  static Loop here() {
#if defined(__x86_64__)
    if (host_isa().avx512) return of<Avx512>(sum_avx512).measured(machine::kPixelsAvx512);
    if (host_isa().avx2) return of<Avx2>(sum_avx2).measured(machine::kPixelsAvx2);
#endif
    return of<Narrow>(sum_narrow).measured(machine::kPixelsSse4);
  }

 private:
  Loop measured(const machine::PixelConvolution& costs) const {
    Loop m = *this;
    m.copy = costs.copy;
    m.library_channels = costs.library_lanes;
    std::copy(costs.library, costs.library + 3, m.library);
    m.library_pixel = costs.library_pixel;
    return m;
  }
};

// The layout of a row of pixels: elements of a channel are `step` apart, channels `stride`.
struct PixelRow {
  int64_t step, stride;
};

// Transposes four channels of four pixels per iteration, while at least four pixels remain. Writes
// the first `lines` of the four channels. Returns the number of pixels done.
template <int lines>
INLINE int64_t part_four(const float* from, int64_t step, int64_t count, float* to, int64_t plane) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) turn_square<lines>(from + i * step, step, to + i, plane);
  return i;
}
INLINE int64_t join_four(const float* from, int64_t plane, int64_t count, float* to, int64_t step) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) turn_square(from + i, plane, to + i * step, step);
  return i;
}

// Copies pixels to planes, in which the elements of a channel are adjacent.
INLINE void part_channels(const float* from, PixelRow row, int64_t channels, int64_t count,
                          float* to, int64_t plane) {
  int64_t done = 0;  // pixels
  if (row.stride == 1 && channels >= 4) {
    // The last four channels may overlap with the previous ones.
    for (int64_t c = 0; c < channels; c += 4) {
      const int64_t at = std::min(c, channels - 4);
      done = part_four<4>(from + at, row.step, count, to + at * plane, plane);
    }
  } else if (row.stride == 1 && channels > 1) {
    // Also reads the elements after them, which exist as long as further pixels follow.
    done = channels == 3 ? part_four<3>(from, row.step, count - 3, to, plane)
                         : part_four<2>(from, row.step, count - 3, to, plane);
  }
  if (done == count) return;
  for (int64_t c = 0; c < channels; ++c) {
    const float* x = from + c * row.stride;
    float* y = to + c * plane;
    if (row.step == 1)
      std::copy(x + done, x + count, y + done);
    else
      for (int64_t i = done; i < count; ++i) y[i] = x[i * row.step];
  }
}

// The inverse of part_channels.
INLINE void join_channels(const float* from, int64_t plane, int64_t channels, int64_t count,
                          float* to, PixelRow row) {
  int64_t done = 0;
  if (row.stride == 1 && channels >= 4)
    for (int64_t c = 0; c < channels; c += 4) {
      const int64_t at = std::min(c, channels - 4);
      done = join_four(from + at * plane, plane, count, to + at, row.step);
    }
  if (done == count) return;
  for (int64_t c = 0; c < channels; ++c) {
    const float* x = from + c * plane;
    float* y = to + c * row.stride;
    if (row.step == 1)
      std::copy(x + done, x + count, y + done);
    else
      for (int64_t i = done; i < count; ++i) y[i * row.step] = x[i];
  }
}

#undef INLINE

// One spatial dimension. The tap at `k * dilation` is `reach(k)` window starts further along, among
// the pixels with the same remainder by the stride.
struct Axis {
  int64_t in, out, window, stride, dilation, low;
  std::vector<int64_t> remainders;  // the remainders of all taps, ascending

  int64_t reach(int64_t k) const { return k * dilation / stride; }
  int64_t most_reach() const { return reach(window - 1); }
  int64_t phases() const { return static_cast<int64_t>(remainders.size()); }
  int64_t phase(int64_t k) const {
    const auto at = std::lower_bound(remainders.begin(), remainders.end(), k * dilation % stride);
    return at - remainders.begin();
  }
};

class PixelRoutine final : public ConvPixels {
 public:
  explicit PixelRoutine(const onednn::ConvSpec& s)
      : spec_(s),
        batch_(s.source.dims[0]),
        inputs_(s.source.dims[1]),
        outputs_(s.destination.dims[1]) {
    const std::size_t space = s.strides.size();
    for (std::size_t i = 0; i < space; ++i) {
      Axis& a = i + 1 == space ? x_ : y_;
      a = {s.source.dims[i + 2],
           s.destination.dims[i + 2],
           s.weights.dims[i + 3],
           s.strides[i],
           s.dilations[i],
           s.pad_low[i],
           {}};
    }
    if (space == 1) y_ = {1, 1, 1, 1, 1, 0, {}};
    for (Axis* a : {&y_, &x_}) {
      for (int64_t k = 0; k < a->window; ++k) a->remainders.push_back(k * a->dilation % a->stride);
      std::sort(a->remainders.begin(), a->remainders.end());
      a->remainders.erase(std::unique(a->remainders.begin(), a->remainders.end()),
                          a->remainders.end());
    }
    auto stride_of = [&](const onednn::Layout& l, std::size_t first, bool row) {
      return row ? (space == 2 ? l.strides[first] : 0) : l.strides[first + space - 1];
    };
    source_row_ = stride_of(s.source, 2, true);
    source_column_ = stride_of(s.source, 2, false);
    destination_row_ = stride_of(s.destination, 2, true);
    destination_column_ = stride_of(s.destination, 2, false);
    weights_row_ = stride_of(s.weights, 3, true);
    weights_column_ = stride_of(s.weights, 3, false);

    pitch_ = x_.out + x_.most_reach();
    phases_ = y_.phases() * x_.phases();
    cut_rows();
    plane_ = plane(rows_);
    for (int64_t c = 0; c < inputs_; ++c)
      for (int64_t ky = 0; ky < y_.window; ++ky)
        for (int64_t kx = 0; kx < x_.window; ++kx)
          taps_.push_back((c + (y_.phase(ky) * x_.phases() + x_.phase(kx)) * inputs_) * plane_ +
                          y_.reach(ky) * pitch_ + x_.reach(kx));
    const int64_t groups = (outputs_ + loop_.channels - 1) / loop_.channels;
    int64_t widest = 0;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t first = outputs_ * g / groups, end = outputs_ * (g + 1) / groups;
      groups_.push_back({static_cast<int>(end - first), first});
      widest =
          std::max<int64_t>(widest, int64_t{loop_.vectors(groups_.back().channels)} * loop_.lanes);
    }
    // The last vectors extend beyond the outputs.
    sums_stride_ = length(rows_) + widest;
    sums_ = inputs_ * phases_ * plane_ + widest;
  }

  int64_t pieces() const override { return batch_ * bands_; }
  Rows rows(int64_t piece) const override {
    const int64_t first = piece % bands_ * rows_;
    return {piece / bands_ * y_.out + first, std::min(rows_, y_.out - first)};
  }
  std::size_t packed_bytes() const override {
    return static_cast<std::size_t>(outputs_ * (tap_count() + 1)) * sizeof(float);
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(sums_ + outputs_ * sums_stride_) * sizeof(float);
  }

  // Packs the weights by group, with adjacent channels, followed by a flag per channel for
  // non-finite weights.
  void pack(const float* weights, float* packed) const override {
    const onednn::Layout& l = spec_.weights;
    float* const odd = packed + outputs_ * tap_count();
    std::fill(odd, odd + outputs_, 0.0f);
    for (const ChannelGroup& g : groups_)
      for (int64_t i = 0; i < inputs_; ++i)
        for (int64_t ky = 0; ky < y_.window; ++ky)
          for (int64_t kx = 0; kx < x_.window; ++kx)
            for (int64_t c = g.first; c < g.first + g.channels; ++c) {
              const float w = weights[c * l.strides[1] + i * l.strides[2] + ky * weights_row_ +
                                      kx * weights_column_];
              if (!std::isfinite(w)) odd[c] = 1;
              *packed++ = w;
            }
  }

  void run(const float* source, const float* packed, float* destination, float* scratch,
           int64_t begin, int64_t end) const override {
    for (int64_t piece = begin; piece < end; ++piece) {
      // Clear the padding. It is at the same positions in all images, but not in all bands.
      if (piece == begin || bands_ > 1) std::fill(scratch, scratch + sums_, 0.0f);
      const int64_t image = piece / bands_, first = piece % bands_ * rows_,
                    rows = std::min(rows_, y_.out - first);
      const float* from = source + image * spec_.source.strides[0];
      float* to = destination + image * spec_.destination.strides[0];
      fill_planes(from, first, rows, scratch);
      float* const sums = scratch + sums_;
      for (const ChannelGroup& g : groups_)
        loop_.run({scratch, taps_.data(), tap_count(), length(rows)}, g.channels,
                  packed + g.first * tap_count(), sums + g.first * sums_stride_, sums_stride_);
      for (int64_t y = 0; y < rows; ++y)
        join_channels(sums + y * pitch_, sums_stride_, outputs_, x_.out,
                      to + (first + y) * destination_row_,
                      {destination_column_, spec_.destination.strides[1]});
      const float* odd = packed + outputs_ * tap_count();
      for (int64_t c = 0; c < outputs_; ++c)
        if (odd[c] != 0) without_padding(from, packed, c, first, rows, to);
    }
  }

  // Independent of the number of images, so that devices that share a batch get the bits of one
  // that has all of it. The factor 1.1 is a margin, because the estimate of oneDNN's time is less
  // accurate. A kernel of one point is a matrix product, which oneDNN computes on the pixels in
  // place. Planes that exceed the nearer caches take longer than this model predicts.
  bool quicker() const {
    constexpr int64_t kMostFloats = 1 << 17;
    return y_.window * x_.window > 1 &&
           inputs_ * phases_ * plane(whole_rows_) + outputs_ * length(whole_rows_) <= kMostFloats &&
           1.1 * work() < library_work();
  }

 private:
  // Estimated time of an image, in vector products.
  double work() const {
    constexpr int64_t kLoads = 2;  // a vector's loads take as long as this many products
    int64_t products = 0;
    for (const ChannelGroup& g : groups_) {
      const int64_t vectors = loop_.vectors(g.channels), width = vectors * loop_.lanes,
                    blocks = (length(whole_rows_) + width - 1) / width;
      products += blocks * vectors *
                  (std::max<int64_t>(g.channels, kLoads) * tap_count() + int64_t{2} * g.channels);
    }
    const int64_t copied = inputs_ * phases_ * plane(whole_rows_) + outputs_ * whole_rows_ * x_.out;
    return static_cast<double>(y_.out) / static_cast<double>(whole_rows_) *
           (static_cast<double>(products) + loop_.copy * static_cast<double>(copied));
  }
  double library_work() const {
    const int64_t blocks = (outputs_ + loop_.library_channels - 1) / loop_.library_channels,
                  vectors = blocks * loop_.library_channels / loop_.lanes;
    return static_cast<double>(y_.out * x_.out * vectors) *
           (static_cast<double>(tap_count()) * loop_.library[std::min<int64_t>(blocks, 3) - 1] +
            loop_.library_pixel);
  }

  int64_t tap_count() const { return static_cast<int64_t>(taps_.size()); }
  // The distance from the first output of `rows` rows to the last.
  int64_t length(int64_t rows) const { return (rows - 1) * pitch_ + x_.out; }

  // Elements of a plane for `rows` output rows.
  int64_t plane(int64_t rows) const { return (rows + y_.most_reach()) * pitch_; }

  // Cuts bands whose planes and sums fit the nearer caches, and several bands if there are few
  // images.
  void cut_rows() {
    constexpr int64_t kFloats = 1 << 15, kPieces = 8, kLeastProducts = 1 << 19;
    // Source rows shared by two bands' windows are copied for both.
    const int64_t most = std::max<int64_t>(1, y_.out / std::max<int64_t>(1, 4 * y_.most_reach()));
    auto rows_of = [&](int64_t bands) {
      bands = std::clamp<int64_t>(bands, 1, most);
      return (y_.out + bands - 1) / bands;
    };
    const int64_t of_row = pitch_ * (inputs_ * phases_ + outputs_),
                  bands = (y_.out * of_row + kFloats - 1) / kFloats;
    rows_ = whole_rows_ = rows_of(bands);
    if (batch_ < kPieces) {
      const int64_t products = y_.out * x_.out * inputs_ * outputs_ * y_.window * x_.window;
      rows_ = rows_of(
          std::max(bands, std::min((kPieces + batch_ - 1) / batch_, products / kLeastProducts)));
    }
    bands_ = (y_.out + rows_ - 1) / rows_;
  }

  void fill_planes(const float* from, int64_t first, int64_t rows, float* planes) const {
    const PixelRow row{source_column_ * x_.stride, spec_.source.strides[1]};
    for (int64_t py = 0; py < y_.phases(); ++py)
      for (int64_t px = 0; px < x_.phases(); ++px, planes += inputs_ * plane_) {
        // Columns of the plane that lie within the source.
        const int64_t remainder = x_.remainders[static_cast<std::size_t>(px)] - x_.low;
        const int64_t begin = std::clamp<int64_t>(
            remainder < 0 ? (-remainder + x_.stride - 1) / x_.stride : 0, 0, pitch_);
        const int64_t past = x_.in - remainder;  // pixels to the end of the row
        const int64_t end =
            std::clamp<int64_t>(past > 0 ? (past + x_.stride - 1) / x_.stride : 0, begin, pitch_);
        for (int64_t r = 0; r < rows + y_.most_reach(); ++r) {
          const int64_t y =
              (first + r) * y_.stride + y_.remainders[static_cast<std::size_t>(py)] - y_.low;
          if (y >= 0 && y < y_.in && begin < end)
            part_channels(from + y * source_row_ + (begin * x_.stride + remainder) * source_column_,
                          row, inputs_, end - begin, planes + r * pitch_ + begin, plane_);
        }
      }
  }

  // Recomputes channel `c` for outputs whose windows overlap the padding, without products with
  // padding: a non-finite weight times zero would be NaN.
  void without_padding(const float* from, const float* packed, int64_t c, int64_t first,
                       int64_t rows, float* to) const {
    const ChannelGroup* g = groups_.data();
    while (c >= g->first + g->channels) ++g;
    const float* weights = packed + g->first * tap_count() + (c - g->first);
    auto inside = [](const Axis& a, int64_t p) { return p >= 0 && p < a.in; };
    for (int64_t y = first; y < first + rows; ++y)
      for (int64_t x = 0; x < x_.out; ++x) {
        const int64_t top = y * y_.stride - y_.low, left = x * x_.stride - x_.low;
        if (inside(y_, top) && inside(y_, top + (y_.window - 1) * y_.dilation) &&
            inside(x_, left) && inside(x_, left + (x_.window - 1) * x_.dilation))
          continue;
        float sum = 0;
        const float* w = weights;
        for (int64_t i = 0; i < inputs_; ++i)
          for (int64_t ky = 0; ky < y_.window; ++ky)
            for (int64_t kx = 0; kx < x_.window; ++kx, w += g->channels) {
              const int64_t sy = top + ky * y_.dilation, sx = left + kx * x_.dilation;
              if (inside(y_, sy) && inside(x_, sx))
                sum +=
                    *w * from[i * spec_.source.strides[1] + sy * source_row_ + sx * source_column_];
            }
        to[y * destination_row_ + x * destination_column_ + c * spec_.destination.strides[1]] = sum;
      }
  }

  const onednn::ConvSpec spec_;
  const Loop loop_ = Loop::here();
  const int64_t batch_, inputs_, outputs_;
  Axis y_, x_;
  int64_t source_row_, source_column_, destination_row_, destination_column_, weights_row_,
      weights_column_;
  int64_t pitch_;         // distance of rows in a plane
  int64_t phases_;        // planes per channel
  int64_t rows_, bands_;  // output rows per band, and the number of bands
  int64_t whole_rows_;    // rows per band if there are enough images
  int64_t plane_;         // elements per plane
  std::vector<int64_t> taps_;
  std::vector<ChannelGroup> groups_;
  int64_t sums_, sums_stride_;  // offset in scratch after the planes, and distance of channels
};

}  // namespace

std::shared_ptr<const ConvPixels> ConvPixels::make(const onednn::ConvSpec& s, bool always) {
  if (s.kind != onednn::ConvKind::forward || s.dtype != DType::float32 || s.weights.dims[0] != 1 ||
      s.strides.empty() || s.strides.size() > 2)
    return nullptr;
  for (const onednn::Layout* l : {&s.source, &s.weights, &s.destination})
    for (int64_t d : l->dims)
      if (d == 0) return nullptr;
  auto made = std::make_shared<const PixelRoutine>(s);
  return always || made->quicker() ? made : nullptr;
}

}  // namespace tessera::inline v0::codegen
