// Measures the limits of the machine, with all cores and with one: fused multiply-adds of float32
// in registers, products of pairs of bfloat16 with float32 sums if the processor has them, and
// products and sums of int32; and how fast arrays are read, written, copied and combined (a = b + s
// * c), by the bytes of all arrays, from sizes that fit the first cache to sizes that fit no cache.
// Prints lines "fma CORES GFLOP/s", "bf16 CORES GFLOP/s", "int32 CORES GOP/s" and "PATTERN CORES
// BYTES GB/s". Each is the best of several tries, with plain or streaming stores, whichever are
// faster at that size. With the argument `avx2`, it uses no newer instructions than AVX2.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

// Runs f(worker) on `workers` threads and returns the seconds until all have finished.
template <class F>
double together(unsigned workers, F f) {
  auto start = Clock::now();
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < workers; ++i) threads.emplace_back([&, i] { f(i); });
  f(0U);
  for (std::thread& t : threads) t.join();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Arrays {
  float *a, *b, *c;
  long n;  // in each array, a multiple of kStep
};
constexpr long kStep = 128;
using Pass = float (*)(const Arrays&);
// One access pattern, implemented in several ways. `arrays` is the number of arrays, which gives
// the bytes per element.
struct Pattern {
  const char* name;
  int arrays;
  std::vector<Pass> ways;
};

// The patterns as the compiler vectorises them, for processors whose vector instructions are not
// known here.
std::vector<Pattern> any_processor() {
  Pass triad = [](const Arrays& x) {
    for (long i = 0; i < x.n; ++i) x.a[i] = x.b[i] + 3.0f * x.c[i];
    return 0.0f;
  };
  return {{"triad", 3, {triad}}};
}

#if defined(__x86_64__)

constexpr long kRounds = 20'000'000;

// Twelve chains hide the latency of two units. The result is used so that the compiler keeps them.
#define CHAINS(T, SET, FMA)                                    \
  T x[12], m = SET(0.999999f), a = SET(1e-7f);                 \
  for (T & v : x) v = SET(1.0f);                               \
  for (long i = 0; i < kRounds; ++i) {                         \
    _Pragma("GCC unroll 12") for (T & v : x) v = FMA(v, m, a); \
  }                                                            \
  for (int i = 1; i < 12; ++i) x[0] = FMA(x[0], m, x[i]);

__attribute__((target("avx512f"), noinline)) float fma512() {
  CHAINS(__m512, _mm512_set1_ps, _mm512_fmadd_ps)
  return _mm512_cvtss_f32(x[0]);
}
__attribute__((target("avx2,fma"), noinline)) float fma256() {
  CHAINS(__m256, _mm256_set1_ps, _mm256_fmadd_ps)
  return _mm256_cvtss_f32(x[0]);
}

__attribute__((target("avx512bf16,avx512f"), noinline)) float bf16_512() {
  __m512 x[12];
  for (__m512& v : x) v = _mm512_setzero_ps();
  const __m512i ones = _mm512_set1_epi16(0x3f80);
  auto m = (__m512bh)ones, a = m;
  asm("" : "+v"(m), "+v"(a));
  for (long i = 0; i < kRounds; ++i) {
    _Pragma("GCC unroll 12") for (__m512& v : x) v = _mm512_dpbf16_ps(v, m, a);
  }
  for (int i = 1; i < 12; ++i) x[0] = _mm512_add_ps(x[0], x[i]);
  return _mm512_cvtss_f32(x[0]);
}

// A product and a sum of int32 are two instructions.
#define INTEGERS(T, SET, MULTIPLY, ADD)                                  \
  T x[12], m = SET(3), a = SET(5);                                       \
  for (T & v : x) v = SET(1);                                            \
  for (long i = 0; i < kRounds; ++i) {                                   \
    _Pragma("GCC unroll 12") for (T & v : x) v = ADD(MULTIPLY(v, m), a); \
    asm("" : "+v"(m), "+v"(a));                                          \
  }                                                                      \
  for (int i = 1; i < 12; ++i) x[0] = ADD(x[0], x[i]);

__attribute__((target("avx512f"), noinline)) float int32_512() {
  INTEGERS(__m512i, _mm512_set1_epi32, _mm512_mullo_epi32, _mm512_add_epi32)
  return static_cast<float>(_mm512_cvtsi512_si32(x[0]));
}
__attribute__((target("avx2"), noinline)) float int32_256() {
  INTEGERS(__m256i, _mm256_set1_epi32, _mm256_mullo_epi32, _mm256_add_epi32)
  return static_cast<float>(_mm256_cvtsi256_si32(x[0]));
}

// Arithmetic in registers; `operations` is the count of one round of a chain.
struct Arithmetic {
  const char* name;
  int operations;
  float (*run)();
};
std::vector<Arithmetic> arithmetic(bool newest) {
  std::vector<Arithmetic> all;
  const bool wide = newest && __builtin_cpu_supports("avx512f");
  if (wide)
    all.push_back({"fma", 2 * 16, fma512});
  else if (__builtin_cpu_supports("fma"))
    all.push_back({"fma", 2 * 8, fma256});
  if (wide && __builtin_cpu_supports("avx512bf16")) all.push_back({"bf16", 2 * 32, bf16_512});
  if (wide)
    all.push_back({"int32", 2 * 16, int32_512});
  else if (__builtin_cpu_supports("avx2"))
    all.push_back({"int32", 2 * 8, int32_256});
  return all;
}

double peak(const Arithmetic& of, unsigned workers) {
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    std::vector<float> sink(workers * 16);
    double s = together(workers, [&](unsigned w) { sink[w * 16] = of.run(); });
    best = std::max(best, 12.0 * of.operations * kRounds * workers / s * 1e-9);
  }
  return best;
}

// The passes of one instruction set, with vectors of W elements of type T. A pass that reads adds
// in eight chains, so that it is limited by loads and not by additions.
#define PASSES(SUFFIX, TARGET, T, W, P)                                            \
  __attribute__((target(TARGET), noinline)) float read_##SUFFIX(const Arrays& x) { \
    T s[8];                                                                        \
    for (T & v : s) v = P##_setzero_ps();                                          \
    for (long i = 0; i < x.n; i += 8 * (W)) {                                      \
      _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) s[k] =                   \
          P##_add_ps(s[k], P##_load_ps(x.a + i + k * (W)));                        \
    }                                                                              \
    for (int k = 1; k < 8; ++k) s[0] = P##_add_ps(s[0], s[k]);                     \
    return P##_cvtss_f32(s[0]);                                                    \
  }                                                                                \
  STORES(SUFFIX, TARGET, T, W, P, store)                                           \
  STORES(SUFFIX, TARGET, T, W, P, stream)

#define STORES(SUFFIX, TARGET, T, W, P, STORE)                                                \
  __attribute__((target(TARGET), noinline)) float write_##STORE##_##SUFFIX(const Arrays& x) { \
    for (long i = 0; i < x.n; i += (W)) P##_##STORE##_ps(x.a + i, P##_set1_ps(1.0f));         \
    return 0;                                                                                 \
  }                                                                                           \
  __attribute__((target(TARGET), noinline)) float copy_##STORE##_##SUFFIX(const Arrays& x) {  \
    for (long i = 0; i < x.n; i += (W)) P##_##STORE##_ps(x.a + i, P##_load_ps(x.b + i));      \
    return 0;                                                                                 \
  }                                                                                           \
  __attribute__((target(TARGET), noinline)) float triad_##STORE##_##SUFFIX(const Arrays& x) { \
    T s = P##_set1_ps(3.0f);                                                                  \
    for (long i = 0; i < x.n; i += (W))                                                       \
      P##_##STORE##_ps(x.a + i, P##_fmadd_ps(s, P##_load_ps(x.c + i), P##_load_ps(x.b + i))); \
    return 0;                                                                                 \
  }

PASSES(512, "avx512f", __m512, 16, _mm512)
PASSES(256, "avx2,fma", __m256, 8, _mm256)

using Ways = std::vector<Pass>;
std::vector<Pattern> four(Ways read, Ways write, Ways copy, Ways triad) {
  return {{"read", 1, read}, {"write", 1, write}, {"copy", 2, copy}, {"triad", 3, triad}};
}
std::vector<Pattern> patterns(bool newest) {
  if (newest && __builtin_cpu_supports("avx512f"))
    return four({read_512}, {write_store_512, write_stream_512}, {copy_store_512, copy_stream_512},
                {triad_store_512, triad_stream_512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return four({read_256}, {write_store_256, write_stream_256}, {copy_store_256, copy_stream_256},
                {triad_store_256, triad_stream_256});
  return any_processor();
}
void end_of_streams() { _mm_sfence(); }

#else

struct Arithmetic {
  const char* name;
};
std::vector<Arithmetic> arithmetic(bool) { return {{"fma"}}; }
double peak(const Arithmetic&, unsigned) { return 0; }
std::vector<Pattern> patterns(bool) { return any_processor(); }
void end_of_streams() {}

#endif

using Floats = std::unique_ptr<float, void (*)(void*)>;
Floats array(long n) {
  auto size = static_cast<std::size_t>(n) * sizeof(float);
  Floats x(static_cast<float*>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096)), std::free);
  std::fill_n(x.get(), n, 1.0f);
  return x;
}

// Measures arrays of `bytes` in all, divided among the workers. Each try goes over them for about
// 10 ms.
double gbytes(const Pattern& pattern, unsigned workers, long bytes) {
  const long n = bytes / pattern.arrays / long(sizeof(float)) / workers / kStep * kStep;
  std::vector<std::vector<Floats>> memory(workers);
  for (auto& of_worker : memory)
    for (int i = 0; i < 3; ++i) of_worker.push_back(array(i < pattern.arrays ? n : kStep));
  const double each = double(n) * workers * pattern.arrays * sizeof(float);
  double best = 0;
  for (Pass pass : pattern.ways) {
    long passes = std::max(1L, (64L << 20) / bytes);  // enough to outweigh the start
    for (int i = 0; i < 5; ++i) {
      std::vector<float> sink(workers * 16);
      double s = together(workers, [&](unsigned w) {
        const Arrays x{memory[w][0].get(), memory[w][1].get(), memory[w][2].get(), n};
        for (long k = 0; k < passes; ++k) sink[w * 16] += pass(x);
        end_of_streams();
      });
      best = std::max(best, each * double(passes) / s * 1e-9);
      passes = std::max(passes, long(double(passes) * 0.01 / s));
    }
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const bool newest = argc < 2 || std::strcmp(argv[1], "avx2") != 0;
  unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<unsigned> counts{1U};
  if (cores > 1) counts.push_back(cores);
  for (unsigned n : counts) {
    for (const Arithmetic& of : arithmetic(newest))
      std::printf("%s %u %.1f\n", of.name, n, peak(of, n));
    for (const Pattern& pattern : patterns(newest))
      for (long bytes = 64L << 10; bytes <= 256L << 20; bytes *= 4)
        std::printf("%s %u %ld %.1f\n", pattern.name, n, bytes, gbytes(pattern, n, bytes));
  }
}
