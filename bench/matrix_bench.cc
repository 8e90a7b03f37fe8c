// Measures products of matrices, as programs run them, beside the libraries: oneDNN's sgemm and
// OpenBLAS's dgemm, called directly. Prints for each shape and each transposition (N: row-major, T:
// transposed) the GFLOP/s of ours and of the library's on one core, their ratio, the share of the
// peak of fused multiply-adds that is measured in the same run, and the GFLOP/s of ours on all cores.
// A batch is a loop over the library's products.
//
//   OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 matrix_bench [f32|f64] [transpositions, "NN,TN"] [m]
#include "codegen/matrix/micro_kernel.h"
#include "ir/host_array.h"
#include "ir/op.h"
#include "ops/contraction/dot_dims.h"
#include "runtime/host/pool.h"

#include <cblas.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ts = tessera;
using Clock = std::chrono::steady_clock;

namespace {

struct Product {
  std::int64_t batch, m, k, n;
};
const Product kProducts[] = {{1, 256, 256, 256},    {1, 512, 512, 512}, {1, 1024, 1024, 1024},
                             {1, 2048, 2048, 2048}, {1, 64, 256, 256},  {1, 128, 768, 3072},
                             {12, 512, 64, 512},    {12, 512, 512, 64}, {1, 32, 784, 512},
                             {1, 8, 768, 768},      {1, 1, 768, 768},   {1, 768, 768, 1},
                             {1, 1, 4096, 4096},    {1, 4096, 4096, 1}, {1, 4096, 16, 64},
                             {1, 4096, 64, 16},     {96, 64, 64, 64},   {1, 1000, 1000, 1000}};

// The seconds of one call: the least of several tries of some milliseconds each.
template <class F>
double seconds(F f) {
  f();
  double best = 1e9;
  int calls = 1;
  for (int i = 0; i < 9; ++i) {
    const auto start = Clock::now();
    for (int c = 0; c < calls; ++c) f();
    const double s = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, s / calls);
    calls = std::max(1, static_cast<int>(2e-3 / best));
  }
  return best;
}

// A tile in the nearest cache that is far from every limit but the multipliers'.
template <class T>
double peak(ts::DType dtype) {
  namespace matrix = ts::codegen::matrix;
  const int rows = std::min(8, matrix::most_rows()), lanes = matrix::lanes_of(dtype);
  constexpr std::int64_t kSteps = 128;
  std::vector<T> a(kSteps * 16, T(1)), b(static_cast<std::size_t>(kSteps * 2 * lanes), T(1)),
      c(static_cast<std::size_t>(rows * 2 * lanes));
  const auto kernel = matrix::tile_kernel({dtype, rows, 2, false, matrix::ReadA::by_steps});
  const std::int64_t size = sizeof(T), row = 2 * lanes * size;
  const matrix::TileArgs args{a.data(), b.data(), c.data(), 16 * size, row, 0, 0, row, kSteps, 64};
  matrix::TileArgs one = args;
  one.tiles = 1;
  const double s = seconds([&] {
    for (int i = 0; i < 64; ++i) kernel(&one);
  });
  return 64.0 * 2 * rows * 2 * lanes * kSteps / s * 1e-9;
}

void library(char ta, char tb, const Product& p, const float* a, const float* b, float* c) {
  for (std::int64_t i = 0; i < p.batch; ++i)
    dnnl_sgemm(ta, tb, p.m, p.n, p.k, 1, a + i * p.m * p.k, ta == 'T' ? p.m : p.k,
               b + i * p.k * p.n, tb == 'T' ? p.k : p.n, 0, c + i * p.m * p.n, p.n);
}
void library(char ta, char tb, const Product& p, const double* a, const double* b, double* c) {
  for (std::int64_t i = 0; i < p.batch; ++i)
    cblas_dgemm(
        CblasRowMajor, ta == 'T' ? CblasTrans : CblasNoTrans, tb == 'T' ? CblasTrans : CblasNoTrans,
        static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), 1, a + i * p.m * p.k,
        static_cast<int>(ta == 'T' ? p.m : p.k), b + i * p.k * p.n,
        static_cast<int>(tb == 'T' ? p.k : p.n), 0, c + i * p.m * p.n, static_cast<int>(p.n));
}

template <class T>
void measure(ts::DType dtype, const std::string& which, std::int64_t only) {
  const double most = peak<T>(dtype);
  std::printf("peak of one core: %.1f GFLOP/s\n", most);
  for (const Product& p : kProducts)
    for (const char* t : {"NN", "NT", "TN", "TT"}) {
      if (which.find(t) == which.npos || (only && p.m != only)) continue;
      const bool ta = t[0] == 'T', tb = t[1] == 'T';
      const ts::Type types[] = {
          {dtype, ta ? ts::Shape{p.batch, p.k, p.m} : ts::Shape{p.batch, p.m, p.k}},
          {dtype, tb ? ts::Shape{p.batch, p.n, p.k} : ts::Shape{p.batch, p.k, p.n}}};
      const ts::Type result{dtype, {p.batch, p.m, p.n}};
      const ts::Op& op = ts::Registry::get().at("dot_general");
      const ts::Attrs attrs = ts::ops::dot_attrs({{ta ? 1 : 2}, {tb ? 2 : 1}, {0}, {0}}, dtype);
      const auto routine = op.call({op, attrs, types, {&result, 1}});
      if (!routine) continue;
      std::vector<T> a(static_cast<std::size_t>(types[0].shape.count()), T(0.5)),
          b(static_cast<std::size_t>(types[1].shape.count()), T(0.25)),
          c(static_cast<std::size_t>(result.shape.count()));
      std::vector<char> memory(routine->scratch_bytes + 64);
      const void* in[] = {a.data(), b.data()};
      void* out[] = {c.data()};
      const ts::RoutineArgs args{
          in, out, memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64};
      const double one = seconds([&] {
        for (const ts::Stage& s : routine->stages) s.run(args, 0, s.tasks);
      });
      const double all = seconds([&] {
        for (const ts::Stage& s : routine->stages) {
          const std::int64_t pieces =
              std::min<std::int64_t>(s.tasks, std::int64_t{4} * ts::runtime::worker_count());
          ts::runtime::parallel_for(pieces, [&](std::int64_t i) {
            s.run(args, s.tasks * i / pieces, s.tasks * (i + 1) / pieces);
          });
        }
      });
      const double theirs = seconds([&] { library(t[0], t[1], p, a.data(), b.data(), c.data()); });
      const double work = 2e-9 * static_cast<double>(p.batch * p.m * p.n * p.k);
      std::printf(
          "%3ld x %4ld x %4ld x %4ld %s  ours %6.1f  library %6.1f  ratio %4.2f  peak %3.0f %%  "
          "all cores %6.1f\n",
          p.batch, p.m, p.k, p.n, t, work / one, work / theirs, theirs / one,
          100 * work / one / most, work / all);
      std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string dtype = argc > 1 ? argv[1] : "f32", which = argc > 2 ? argv[2] : "NN,NT,TN,TT";
  const std::int64_t only = argc > 3 ? std::atol(argv[3]) : 0;
  if (dtype == "f64")
    measure<double>(ts::DType::float64, which, only);
  else
    measure<float>(ts::DType::float32, which, only);
}
