// Converts arrays of float16 and bfloat16 to and from float32, rounding to nearest even like the
// scalar conversions.
#include "codegen/calls/internal.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::inline v0::codegen {
namespace {

// With a constant trip count, every compiler vectorises the loops below.
constexpr std::int64_t kRow = 16;

template <class T>
void widen(const T* in, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kRow <= count; i += kRow)
    for (std::int64_t k = 0; k < kRow; ++k) out[i + k] = static_cast<float>(in[i + k]);
  for (; i < count; ++i) out[i] = static_cast<float>(in[i]);
}

template <class T>
void narrow(const float* in, T* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = T(in[i]);
}

void narrow(const float* in, bfloat16_t* out, std::int64_t count) {
  auto rounded = [](float v) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(v);
    std::uint32_t number = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16, nan = (u >> 16) | 0x40u;
    return static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? nan : number);
  };
  std::int64_t i = 0;
  for (; i + kRow <= count; i += kRow)
    for (std::int64_t k = 0; k < kRow; ++k) out[i + k].bits = rounded(in[i + k]);
  for (; i < count; ++i) out[i].bits = rounded(in[i]);
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) std::int64_t widen_f16c(const float16_t* in, float* out,
                                                            std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(out + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  return i;
}
__attribute__((target("avx,f16c"))) std::int64_t narrow_f16c(const float* in, float16_t* out,
                                                             std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
bool has_f16c() {
  static const bool has = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return has;
}
#else
std::int64_t widen_f16c(const float16_t*, float*, std::int64_t) { return 0; }
std::int64_t narrow_f16c(const float*, float16_t*, std::int64_t) { return 0; }
bool has_f16c() { return false; }
#endif

}  // namespace

void widen_from(DType from, const void* in, float* out, std::int64_t count) {
  if (from == DType::bfloat16) return widen(static_cast<const bfloat16_t*>(in), out, count);
  const auto* halves = static_cast<const float16_t*>(in);
  std::int64_t done = has_f16c() ? widen_f16c(halves, out, count) : 0;
  widen(halves + done, out + done, count - done);
}

void narrow_to(DType to, const float* in, void* out, std::int64_t count) {
  if (to == DType::bfloat16) return narrow(in, static_cast<bfloat16_t*>(out), count);
  auto* halves = static_cast<float16_t*>(out);
  std::int64_t done = has_f16c() ? narrow_f16c(in, halves, count) : 0;
  narrow(in + done, halves + done, count - done);
}

namespace {
// A stage that calls f(first, last) for each task's part of `count` elements.
Stage by_blocks(std::int64_t count,
                std::function<void(const RoutineArgs&, std::int64_t, std::int64_t)> f) {
  constexpr std::int64_t kBlock = 1 << 16;
  Stage stage;
  stage.tasks = std::max<std::int64_t>(1, (count + kBlock - 1) / kBlock);
  stage.run = [count, f = std::move(f)](const RoutineArgs& args, std::int64_t begin,
                                        std::int64_t end) {
    f(args, begin * kBlock, std::min(count, end * kBlock));
  };
  return stage;
}
}  // namespace

Stage widening_stage(DType from, std::int64_t count,
                     std::function<Widening(const RoutineArgs&)> locate) {
  return by_blocks(count, [=, locate = std::move(locate)](const RoutineArgs& args,
                                                          std::int64_t first, std::int64_t last) {
    Widening w = locate(args);
    widen_from(from, static_cast<const char*>(w.from) + first * size_of(from), w.to + first,
               last - first);
  });
}

Stage narrowing_stage(DType to, std::int64_t count,
                      std::function<Narrowing(const RoutineArgs&)> locate) {
  return by_blocks(count, [=, locate = std::move(locate)](const RoutineArgs& args,
                                                          std::int64_t first, std::int64_t last) {
    Narrowing n = locate(args);
    narrow_to(to, n.from + first, static_cast<char*>(n.to) + first * size_of(to), last - first);
  });
}

}  // namespace tessera::inline v0::codegen
