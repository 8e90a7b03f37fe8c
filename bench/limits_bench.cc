// The limits of the machine, all cores together and one alone: fused multiply-adds of registers,
// and a triad a = b + s * c of arrays that no cache holds, with streaming stores. Prints "NAME
// CORES VALUE" lines in GFLOP/s and GB/s, the best of several tries.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

// Runs f(worker) on `workers` threads; the seconds that all took.
template <class F>
double together(unsigned workers, F f) {
  auto start = Clock::now();
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < workers; ++i) threads.emplace_back([&, i] { f(i); });
  f(0U);
  for (std::thread& t : threads) t.join();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

#if defined(__x86_64__)

constexpr long kRounds = 20'000'000;

// Twelve chains cover the latency of two units; the result is used so that they stay.
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

double peak_gflops(unsigned workers) {
  bool wide = __builtin_cpu_supports("avx512f");
  if (!wide && !__builtin_cpu_supports("fma")) return 0;
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    std::vector<float> sink(workers * 16);
    double s = together(workers, [&](unsigned w) { sink[w * 16] = wide ? fma512() : fma256(); });
    best = std::max(best, 2.0 * 12 * (wide ? 16 : 8) * kRounds * workers / s * 1e-9);
  }
  return best;
}

void triad_part(float* a, const float* b, const float* c, long n) {
  __m128 s = _mm_set1_ps(3.0f);
  for (long i = 0; i < n; i += 4)
    _mm_stream_ps(a + i, _mm_add_ps(_mm_load_ps(b + i), _mm_mul_ps(s, _mm_load_ps(c + i))));
  _mm_sfence();
}

#else

double peak_gflops(unsigned) { return 0; }
void triad_part(float* a, const float* b, const float* c, long n) {
  for (long i = 0; i < n; ++i) a[i] = b[i] + 3.0f * c[i];
}

#endif

double triad_gbytes(unsigned workers) {
  constexpr long kEach = 32L << 20;
  auto array = [&] {
    return std::unique_ptr<float, void (*)(void*)>(
        static_cast<float*>(std::aligned_alloc(64, kEach * sizeof(float))), std::free);
  };
  auto a = array(), b = array(), c = array();
  std::fill_n(a.get(), kEach, 0.0f);
  std::fill_n(b.get(), kEach, 1.0f);
  std::fill_n(c.get(), kEach, 2.0f);
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    long part = kEach / workers / 16 * 16;
    double s = together(workers, [&](unsigned w) {
      triad_part(a.get() + w * part, b.get() + w * part, c.get() + w * part, part);
    });
    best = std::max(best, 12.0 * static_cast<double>(part * workers) / s * 1e-9);
  }
  return best;
}

}  // namespace

int main() {
  unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned n : {1U, cores}) {
    std::printf("fma %u %.1f\n", n, peak_gflops(n));
    std::printf("triad %u %.1f\n", n, triad_gbytes(n));
  }
}
