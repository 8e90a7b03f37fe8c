// Measures matrix products, as programs run them, and libraries called directly: oneDNN's sgemm,
// bfloat16 matmul and int8 gemm, and OpenBLAS's dgemm, cgemm and zgemm. Prints for each shape and
// each transposition (N: row-major, T: transposed) our GFLOP/s and the library's on one core, their
// ratio, our share of the peak of the instructions used, measured in the same run, the GB/s at
// which the larger operand is read, and our GFLOP/s on all cores. A complex operation counts as
// four. For the library, a batch is a loop over its products.
//
//   OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 matrix_bench [dtype] [transpositions, "NN,TN"] [m]
//
// Dtypes are f32, f64, bf16, f16, s8, u8, s16, s32, c64 and c128. Results of bf16 and f16 are
// float32, those of integers int32.
#include "codegen/matrix/micro_kernel.h"
#include "codegen/matrix/unit_kernel.h"
#include "ir/host_array.h"
#include "ir/op.h"
#include "least_seconds.h"
#include "ops/contraction/dot_dims.h"
#include "runtime/host/pool.h"

#include <cblas.h>
#include <dnnl.hpp>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ts = tessera;

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

namespace matrix = ts::codegen::matrix;

// Blocks of operands that are in the first-level cache.
double peak_of_unit(matrix::Terms terms) {
  constexpr std::int64_t kGroups = 16, kPanels = 64, kRow = kPanels * 128;
  std::vector<char> a(32 * 64), b(kGroups * 16 * 128), c(32 * kRow);
  const matrix::UnitShapes shapes = matrix::unit_shapes(32);
  const auto kernel = matrix::unit_kernel({terms, true, false, ts::codegen::matrix_unit()});
  const matrix::UnitArgs one{&shapes, a.data(), b.data(), c.data(), 64, 0,
                             0,       kRow,     kGroups,  kPanels,  32};
  const double s = seconds([&] { kernel(&one); });
  return 2.0 * 32 * 32 * kPanels * kGroups * 16 * matrix::steps_of(terms) / s * 1e-9;
}

// A tile in the first-level cache that is limited only by the multiply-add units.
double peak(const matrix::Kind& kind) {
  if (matrix::on_unit(kind.terms)) return peak_of_unit(kind.terms);
  const int rows = std::min(8, matrix::most_rows()), lanes = matrix::lanes_of(kind.sum),
            parts = matrix::parts_in(kind), vectors = 2 / parts;
  constexpr std::int64_t kSteps = 128;
  const std::int64_t size = static_cast<std::int64_t>(ts::size_of(kind.sum)),
                     row = vectors * lanes * size;
  std::vector<char> a(static_cast<std::size_t>(kSteps * 16 * size)),
      b(static_cast<std::size_t>(kSteps * row)), c(static_cast<std::size_t>(rows * row));
  const std::int32_t minus[16] = {};
  const auto kernel = matrix::tile_kernel({kind, rows, vectors, false, matrix::ReadA::by_steps});
  matrix::TileArgs one{a.data(), b.data(), c.data(), 16 * size, row, 0, 0, row, kSteps, 1};
  one.minus = minus;
  const double s = seconds([&] {
    for (int i = 0; i < 64; ++i) kernel(&one);
  });
  return 64.0 * 2 * rows * vectors * lanes * kSteps * matrix::steps_of(kind.terms) *
         (parts == 2 ? 4 : 1) / s * 1e-9;
}

struct Call {
  char ta, tb;
  Product p;
  const void *a, *b;
  void* c;
};
// A library's product of one matrix of the batch, or nothing if there is none.
std::function<void(const Call&, std::int64_t)> library_of(ts::DType dtype, const Call& call) {
  const auto turned = [](char t) { return t == 'T' ? CblasTrans : CblasNoTrans; };
  const auto lda = [](const Call& x) { return x.ta == 'T' ? x.p.m : x.p.k; };
  const auto ldb = [](const Call& x) { return x.tb == 'T' ? x.p.k : x.p.n; };
  const auto blas = [=](auto gemm, auto element, const auto& one, const auto& zero) {
    using T = decltype(element);
    return [=](const Call& x, std::int64_t i) {
      gemm(CblasRowMajor, turned(x.ta), turned(x.tb), static_cast<int>(x.p.m),
           static_cast<int>(x.p.n), static_cast<int>(x.p.k), one(),
           static_cast<const T*>(x.a) + i * x.p.m * x.p.k, static_cast<int>(lda(x)),
           static_cast<const T*>(x.b) + i * x.p.k * x.p.n, static_cast<int>(ldb(x)), zero(),
           static_cast<T*>(x.c) + i * x.p.m * x.p.n, static_cast<int>(x.p.n));
    };
  };
  static const std::complex<float> kOne32 = 1, kZero32 = 0;
  static const std::complex<double> kOne64 = 1, kZero64 = 0;
  switch (dtype) {
    case ts::DType::float32:
      return [=](const Call& x, std::int64_t i) {
        dnnl_sgemm(x.ta, x.tb, x.p.m, x.p.n, x.p.k, 1,
                   static_cast<const float*>(x.a) + i * x.p.m * x.p.k, lda(x),
                   static_cast<const float*>(x.b) + i * x.p.k * x.p.n, ldb(x), 0,
                   static_cast<float*>(x.c) + i * x.p.m * x.p.n, x.p.n);
      };
    case ts::DType::float64:
      return blas(
          cblas_dgemm, double{}, [] { return 1.0; }, [] { return 0.0; });
    case ts::DType::complex64:
      return blas(
          cblas_cgemm, std::complex<float>{}, [] { return &kOne32; }, [] { return &kZero32; });
    case ts::DType::complex128:
      return blas(
          cblas_zgemm, std::complex<double>{}, [] { return &kOne64; }, [] { return &kZero64; });
    case ts::DType::int8:
      return [=](const Call& x, std::int64_t i) {
        const std::int32_t zero = 0;
        dnnl_gemm_s8s8s32(x.ta, x.tb, 'F', x.p.m, x.p.n, x.p.k, 1,
                          static_cast<const std::int8_t*>(x.a) + i * x.p.m * x.p.k, lda(x), 0,
                          static_cast<const std::int8_t*>(x.b) + i * x.p.k * x.p.n, ldb(x), 0, 0,
                          static_cast<std::int32_t*>(x.c) + i * x.p.m * x.p.n, x.p.n, &zero);
      };
    case ts::DType::bfloat16: {
      using dnnl::memory;
      const Product& p = call.p;
      const auto matrix = [](std::int64_t rows, std::int64_t columns, memory::data_type type,
                             char turned) {
        return memory::desc({rows, columns}, type,
                            turned == 'T' ? memory::dims{1, rows} : memory::dims{columns, 1});
      };
      const auto a = matrix(p.m, p.k, memory::data_type::bf16, call.ta),
                 b = matrix(p.k, p.n, memory::data_type::bf16, call.tb),
                 c = matrix(p.m, p.n, memory::data_type::f32, 'N');
      const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
      const dnnl::matmul product(dnnl::matmul::primitive_desc({a, b, c}, engine));
      return [=, stream = dnnl::stream(engine)](const Call& x, std::int64_t i) mutable {
        const auto at = [&](const memory::desc& d, const void* data, std::int64_t elements,
                            std::int64_t size) {
          const char* first = static_cast<const char*>(data) + i * elements * size;
          return memory(d, engine, const_cast<char*>(first));
        };
        product.execute(stream, {{DNNL_ARG_SRC, at(a, x.a, x.p.m * x.p.k, 2)},
                                 {DNNL_ARG_WEIGHTS, at(b, x.b, x.p.k * x.p.n, 2)},
                                 {DNNL_ARG_DST, at(c, x.c, x.p.m * x.p.n, 4)}});
        stream.wait();
      };
    }
    default: return nullptr;
  }
}

void measure(ts::DType dtype, const std::string& which, std::int64_t only) {
  const ts::DType sum = ts::is_complex(dtype) || dtype == ts::DType::float64 ? dtype
                        : ts::is_integer(dtype)                              ? ts::DType::int32
                                                                             : ts::DType::float32;
  const auto unit = matrix::unit_terms(dtype, sum);
  const matrix::Kind kind = unit                    ? matrix::Kind{sum, *unit}
                            : ts::is_integer(dtype) ? matrix::integer_kind(dtype, sum)
                            : dtype == ts::DType::bfloat16 && matrix::has_bfloat16_pairs()
                                ? matrix::Kind{sum, matrix::Terms::pairs_bfloat16}
                                : matrix::Kind{sum};
  const double most = peak(kind);
  std::printf("peak of one core: %.1f GFLOP/s\n", most);
  for (const Product& p : kProducts)
    for (const char* t : {"NN", "NT", "TN", "TT"}) {
      if (which.find(t) == which.npos || (only && p.m != only)) continue;
      const bool ta = t[0] == 'T', tb = t[1] == 'T';
      const ts::Type types[] = {
          {dtype, ta ? ts::Shape{p.batch, p.k, p.m} : ts::Shape{p.batch, p.m, p.k}},
          {dtype, tb ? ts::Shape{p.batch, p.n, p.k} : ts::Shape{p.batch, p.k, p.n}}};
      const ts::Type result{sum, {p.batch, p.m, p.n}};
      const ts::Op& op = ts::Registry::get().at("dot_general");
      const ts::Attrs attrs = ts::ops::dot_attrs({{ta ? 1 : 2}, {tb ? 2 : 1}, {0}, {0}}, sum);
      const auto routine = op.call({op, attrs, types, {&result, 1}});
      if (!routine) continue;
      // These bytes are ordinary numbers of every dtype.
      std::vector<char> a(static_cast<std::size_t>(types[0].bytes()), 0x3f),
          b(static_cast<std::size_t>(types[1].bytes()), 0x3f),
          c(static_cast<std::size_t>(result.bytes()));
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
      const Call call{t[0], t[1], p, a.data(), b.data(), c.data()};
      const auto library = library_of(dtype, call);
      const double theirs = library ? seconds([&] {
        for (std::int64_t i = 0; i < p.batch; ++i) library(call, i);
      })
                                    : 0;
      const double work =
          (ts::is_complex(dtype) ? 8e-9 : 2e-9) * static_cast<double>(p.batch * p.m * p.n * p.k);
      std::printf(
          "%3ld x %4ld x %4ld x %4ld %s  ours %6.1f  library %6.1f  ratio %4.2f  peak %3.0f %%  "
          "%5.1f GB/s  all cores %6.1f\n",
          p.batch, p.m, p.k, p.n, t, work / one, library ? work / theirs : 0, theirs / one,
          100 * work / one / most,
          1e-9 * static_cast<double>(std::max(types[0].bytes(), types[1].bytes())) / one,
          work / all);
      std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string dtype = argc > 1 ? argv[1] : "f32", which = argc > 2 ? argv[2] : "NN,NT,TN,TT";
  const std::int64_t only = argc > 3 ? std::atol(argv[3]) : 0;
  const std::map<std::string, ts::DType> dtypes = {
      {"f32", ts::DType::float32},    {"f64", ts::DType::float64}, {"bf16", ts::DType::bfloat16},
      {"f16", ts::DType::float16},    {"s8", ts::DType::int8},     {"u8", ts::DType::uint8},
      {"s16", ts::DType::int16},      {"s32", ts::DType::int32},   {"c64", ts::DType::complex64},
      {"c128", ts::DType::complex128}};
  measure(dtypes.at(dtype), which, only);
}
