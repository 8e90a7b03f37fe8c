// A tile of neighbouring outputs, each a vector of channels, stays in registers while the window
// positions are added one after the other. The loops are compiled for several processors.
#include "codegen/calls/conv_channels_loops.h"

#include "codegen/kernel/isa.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::codegen {
namespace {

#define INLINE [[gnu::always_inline]] inline

using std::int64_t;

// A vector of as many elements of type T as fit in `bytes` bytes.
template <class T, int bytes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
  static constexpr int64_t kLanes = bytes / sizeof(T), kSize = sizeof(T);
  // The number of vectors of channels in a tile, which registers hold.
  static constexpr int kVectors = bytes == 64 ? 2 : 1;
  using Sum = Vector;
  INLINE static void load(const char* from, Sum& v) { v = *reinterpret_cast<const Vector*>(from); }
  INLINE static void store(char* to, const Sum& v) { *reinterpret_cast<Vector*>(to) = v; }
};

// bfloat16, with float32 sums in vectors of `bytes` bytes. Storing rounds to nearest even. This is
// a macro because a template cannot convert vectors with this compiler.
#define NARROW_LANES(bytes)                                                                       \
  struct NarrowLanes##bytes {                                                                     \
    static constexpr int64_t kLanes = bytes / 4, kSize = 2;                                       \
    static constexpr int kVectors = bytes == 64 ? 2 : 1;                                          \
    typedef float Sum __attribute__((vector_size(bytes)));                                        \
    typedef std::uint32_t Bits __attribute__((vector_size(bytes)));                               \
    typedef std::uint16_t Vector __attribute__((vector_size(bytes / 2), aligned(2), may_alias));  \
    INLINE static void load(const char* from, Sum& v) {                                           \
      v = reinterpret_cast<Sum>(                                                                  \
          __builtin_convertvector(*reinterpret_cast<const Vector*>(from), Bits) << 16);           \
    }                                                                                             \
    INLINE static void store(char* to, const Sum& v) {                                            \
      const Bits bits = reinterpret_cast<const Bits&>(v);                                         \
      const Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, nan = (bits >> 16) | 0x40; \
      const Bits result = (bits & 0x7fffffff) > 0x7f800000 ? nan : rounded;                       \
      *reinterpret_cast<Vector*>(to) = __builtin_convertvector(result, Vector);                   \
    }                                                                                             \
  };
NARROW_LANES(4)
NARROW_LANES(16)
NARROW_LANES(32)
NARROW_LANES(64)
#undef NARROW_LANES

// Keeps GCC from loading a vector again for each of its products. Clang does not do that, and does
// not accept wide vectors as operands of inline assembly in a function that is compiled for several
// processors.
#if defined(__clang__)
#define KEEP(v)
#elif defined(__x86_64__)
#define KEEP(v) asm("" : "+v"(v))
#else
#define KEEP(v) asm("" : "+w"(v))
#endif

// Outputs x to x + outputs - 1, of `vectors` vectors of channels from the c-th on.
template <class L, int outputs, int vectors>
INLINE void tile(const ChannelStrip& s, int64_t x, int64_t c) {
  using Sum = typename L::Sum;
  Sum sums[outputs][vectors] = {};
  const int64_t from = x * s.step + c * L::kSize;
  for (int64_t r = 0; r < s.row_count; ++r) {
    const char* const row = s.rows[r].source + from;
    const char* const row_weights = s.rows[r].weights + c * L::kSize;
    for (int64_t k = 0; k < s.tap_count; ++k) {
      const char* at = row + s.taps[k].source;
      Sum w[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        L::load(row_weights + s.taps[k].weights + v * L::kLanes * L::kSize, w[v]);
#pragma GCC unroll 8
      for (int i = 0; i < outputs; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
          Sum from_source;
          L::load(at + i * s.step + v * L::kLanes * L::kSize, from_source);
          sums[i][v] = sums[i][v] + from_source * w[v];
        }
    }
  }
  const int64_t to_step = s.to_step;
  char* const to = s.to + x * to_step + c * L::kSize;
#pragma GCC unroll 8
  for (int i = 0; i < outputs; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      L::store(to + i * to_step + v * L::kLanes * L::kSize, sums[i][v]);
}

// The same for windows of `taps` adjacent positions whose outputs are `stride` source positions
// apart: a vector of the source is read once for all outputs of the tile.
template <class L, int outputs, int vectors, int taps, int stride>
INLINE void tile_of_window(const ChannelStrip& s, int64_t x, int64_t c) {
  using Sum = typename L::Sum;
  constexpr int kPositions = (outputs - 1) * stride + taps;
  constexpr int64_t kVector = L::kLanes * L::kSize;
  Sum sums[outputs][vectors] = {};
  const int64_t from = s.taps[0].source + x * s.step + c * L::kSize,
                of_weights = s.taps[0].weights + c * L::kSize, next = s.next;
  for (int64_t r = 0; r < s.row_count; ++r) {
    const char* at = s.rows[r].source + from;
    const char* const weights = s.rows[r].weights + of_weights;
    Sum w[taps][vectors];
#pragma GCC unroll 8
    for (int k = 0; k < taps; ++k)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        L::load(weights + k * s.next_weights + v * kVector, w[k][v]);
#pragma GCC unroll 32
    for (int i = 0; i < kPositions; ++i, at += next) {
      Sum from_source[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        L::load(at + v * kVector, from_source[v]);
        KEEP(from_source[v]);
      }
#pragma GCC unroll 8
      for (int k = 0; k < taps; ++k)
        if (i >= k && (i - k) % stride == 0 && (i - k) / stride < outputs)
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v)
            sums[(i - k) / stride][v] = sums[(i - k) / stride][v] + from_source[v] * w[k][v];
    }
  }
  const int64_t to_step = s.to_step;
  char* const to = s.to + x * to_step + c * L::kSize;
#pragma GCC unroll 8
  for (int i = 0; i < outputs; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) L::store(to + i * to_step + v * kVector, sums[i][v]);
}

// The channels from `begin` to `end` of some outputs. The last vector may overlap the one before.
// `taps` is 0 for any window.
template <class L, int outputs, int taps, int stride>
INLINE void tiles(const ChannelStrip& s, int64_t x, int64_t begin, int64_t end) {
  constexpr int kVectors = L::kVectors;
  int64_t c = begin;
  for (; c + kVectors * L::kLanes <= end; c += kVectors * L::kLanes) {
    if constexpr (taps == 0)
      tile<L, outputs, kVectors>(s, x, c);
    else
      tile_of_window<L, outputs, kVectors, taps, stride>(s, x, c);
  }
  for (; c < end; c += L::kLanes) {
    const int64_t at = std::min(c, s.channels - L::kLanes);
    if constexpr (taps == 0)
      tile<L, outputs, 1>(s, x, at);
    else
      tile_of_window<L, outputs, 1, taps, stride>(s, x, at);
  }
}

template <class L, int taps, int stride>
INLINE void block(const ChannelStrip& s, int64_t begin, int64_t end) {
  constexpr int64_t kOutputs = 8;
  const int64_t parts = (s.count + kOutputs - 1) / kOutputs;
  for (int64_t p = 0; p < parts; ++p) {
    const int64_t x = s.count * p / parts;
    switch (s.count * (p + 1) / parts - x) {
      case 1: tiles<L, 1, taps, stride>(s, x, begin, end); break;
      case 2: tiles<L, 2, taps, stride>(s, x, begin, end); break;
      case 3: tiles<L, 3, taps, stride>(s, x, begin, end); break;
      case 4: tiles<L, 4, taps, stride>(s, x, begin, end); break;
      case 5: tiles<L, 5, taps, stride>(s, x, begin, end); break;
      case 6: tiles<L, 6, taps, stride>(s, x, begin, end); break;
      case 7: tiles<L, 7, taps, stride>(s, x, begin, end); break;
      default: tiles<L, 8, taps, stride>(s, x, begin, end); break;
    }
  }
}

// `windows`: whether common windows get code of their own, which pays only for float32.
template <class L, bool windows>
INLINE void strip(const ChannelStrip& s) {
  constexpr int64_t kVectors = 4, kFew = 2;
  // The taps and the stride in source positions, if they are evenly apart.
  const int64_t stride = s.next != 0 && s.step % s.next == 0 ? s.step / s.next : 0,
                window = stride == 1 || stride == 2 ? s.tap_count * 16 + stride : 0;
  // A few outputs are too few independent sums, unless they are of several vectors.
  if (s.count <= kFew) {
    int64_t c = s.begin;
    for (; c + kVectors * L::kLanes <= s.end; c += kVectors * L::kLanes)
      for (int64_t x = 0; x < s.count; ++x) tile<L, 1, kVectors>(s, x, c);
    if (c < s.end) block<L, 0, 0>(s, c, s.end);
    return;
  }
  if constexpr (windows) switch (window) {
      case 3 * 16 + 1: return block<L, 3, 1>(s, s.begin, s.end);
      case 3 * 16 + 2: return block<L, 3, 2>(s, s.begin, s.end);
      case 5 * 16 + 1: return block<L, 5, 1>(s, s.begin, s.end);
      case 5 * 16 + 2: return block<L, 5, 2>(s, s.begin, s.end);
      default: break;
    }
  block<L, 0, 0>(s, s.begin, s.end);
}

#undef INLINE

// The loops by dtype, and by the width of the vectors that the channels fill: registers, 16 bytes,
// or single elements.
#define TESSERA_LOOPS(name, target, bytes)                                                        \
  target void name##_f32(const ChannelStrip& s) { strip<Lanes<float, bytes>, true>(s); }          \
  target void name##_f32_16(const ChannelStrip& s) { strip<Lanes<float, 16>, false>(s); }         \
  target void name##_f32_4(const ChannelStrip& s) { strip<Lanes<float, 4>, false>(s); }           \
  target void name##_f64(const ChannelStrip& s) { strip<Lanes<double, bytes>, false>(s); }        \
  target void name##_f64_16(const ChannelStrip& s) { strip<Lanes<double, 16>, false>(s); }        \
  target void name##_f64_8(const ChannelStrip& s) { strip<Lanes<double, 8>, false>(s); }          \
  target void name##_bf16(const ChannelStrip& s) { strip<NarrowLanes##bytes, false>(s); }         \
  target void name##_bf16_8(const ChannelStrip& s) { strip<NarrowLanes16, false>(s); }            \
  target void name##_bf16_2(const ChannelStrip& s) { strip<NarrowLanes4, false>(s); }             \
  ChannelLoop name(DType dtype, int64_t channels) {                                               \
    if (dtype == DType::float32)                                                                  \
      return channels >= bytes / 4 ? name##_f32 : channels >= 4 ? name##_f32_16 : name##_f32_4;   \
    if (dtype == DType::float64)                                                                  \
      return channels >= bytes / 8 ? name##_f64 : channels >= 2 ? name##_f64_16 : name##_f64_8;   \
    if (dtype == DType::bfloat16)                                                                 \
      return channels >= bytes / 4 ? name##_bf16 : channels >= 4 ? name##_bf16_8 : name##_bf16_2; \
    return nullptr;                                                                               \
  }

TESSERA_LOOPS(sse, , 16)
#if defined(__x86_64__)
TESSERA_LOOPS(avx2, [[gnu::target("avx2,fma")]], 32)
TESSERA_LOOPS(avx512, [[gnu::target("avx512f,avx512vl,avx512dq,avx512bw")]], 64)
#endif

}  // namespace

ChannelLoop channel_loop(DType dtype, std::int64_t channels) {
#if defined(__x86_64__)
  if (host_isa().avx512) return avx512(dtype, channels);
  if (host_isa().avx2) return avx2(dtype, channels);
#endif
  return sse(dtype, channels);
}

}  // namespace tessera::inline v0::codegen
