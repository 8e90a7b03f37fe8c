// Results that fit no cache are stored past the caches: the values are the same, wherever the
// arrays are.
#include "base/box_copy.h"
#include "codegen/kernel/kernel.h"
#include "codegen/kernel/kernel_schedule.h"
#include "codegen/run.h"
#include "ops/build.h"

#include <tessera/tessera.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace ts = tessera;
namespace ops = tessera::ops;

namespace {

constexpr std::int64_t kMany = ts::codegen::kPastCachesFrom / 4;  // floats

ts::HostArray counting(const ts::Shape& shape) {
  ts::HostArray x(ts::f32, shape);
  for (std::int64_t i = 0; i < shape.count(); ++i)
    x.data<float>()[i] = static_cast<float>(i % 1000003) - 500000;
  return x;
}

// Arrays begin at the start of a page, where cache lines begin, or end at the end of one, where
// none begins.
void expect_products_and_signs(const ts::ProgramPtr& p, const ts::HostArray& x, bool signs) {
  const auto routine = run::compiled(p);
  for (bool at_end : {false, true}) {
    const std::vector<ts::HostArray> out = run::fenced(*routine, *p, {{x}}, at_end);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < x.shape.count(); ++i) {
      const float v = x.data<float>()[i];
      wrong += out[0].data<float>()[i] != v * 3 + 1;
      if (signs) wrong += out[1].data<bool>()[i] != (v > 0);
    }
    EXPECT_EQ(wrong, 0) << (at_end ? "at an end" : "at a beginning");
  }
}

ts::Value times_three(ts::Value x) {
  return ops::add(ops::mul(x, ops::full_like(x, 3)), ops::full_like(x, 1));
}

}  // namespace

TEST(PastCaches, OneDimensionWithATail) {
  const std::int64_t n = kMany + 1003;
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {n}});
  const ts::ProgramPtr p = b.finish({{times_three(x), ops::gt(x, ops::full_like(x, 0))}});
  expect_products_and_signs(p, counting({n}), true);
}

// Rows that consist of whole cache lines and others, with a bias along them, which makes two loops.
TEST(PastCaches, Rows) {
  for (std::int64_t row : {4096, 4100, 4099}) {
    const std::int64_t rows = kMany / row + 1;
    ts::Builder b;
    ts::Value x = b.input({ts::f32, {rows, row}}), ones = b.input({ts::f32, {row}});
    ts::Value y =
        ops::add(ops::mul(x, ops::full_like(x, 3)), ops::broadcast_in_dim(ones, {rows, row}, {1}));
    const ts::ProgramPtr p = b.finish({{y}});
    const ts::HostArray in = counting({rows, row});
    ts::HostArray bias(ts::f32, {row});
    std::fill_n(bias.data<float>(), row, 1.0f);
    const auto routine = run::compiled(p);
    for (bool at_end : {false, true}) {
      const std::vector<ts::HostArray> out = run::fenced(*routine, *p, {{in, bias}}, at_end);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < in.shape.count(); ++i)
        wrong += out[0].data<float>()[i] != in.data<float>()[i] * 3 + 1;
      EXPECT_EQ(wrong, 0) << row << (at_end ? " at an end" : " at a beginning");
    }
  }
}

// Values that are used twice for a row stay in the caches; only results are stored past them.
TEST(PastCaches, RowsThatAreReducedFirst) {
  const std::int64_t row = 4096, rows = kMany / row + 1;
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {rows, row}});
  ts::Value y = times_three(x);
  ts::Value most = ops::reduce_max(y, {1});
  const ts::ProgramPtr p = b.finish({{ops::sub(y, ops::broadcast_in_dim(most, {rows, row}, {0}))}});
  const ts::HostArray in = counting({rows, row});
  const std::vector<ts::HostArray> out = run::fenced(*run::compiled(p), *p, {{in}}, false);
  std::int64_t wrong = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = in.data<float>() + r * row;
    float largest = from[0] * 3 + 1;
    for (std::int64_t i = 1; i < row; ++i) largest = std::max(largest, from[i] * 3 + 1);
    for (std::int64_t i = 0; i < row; ++i)
      wrong += out[0].data<float>()[r * row + i] != from[i] * 3 + 1 - largest;
  }
  EXPECT_EQ(wrong, 0);
}

// Whether results are stored past the caches depends on how often a program is run, because the
// results of all devices count together. A program that is run four times gets its own machine
// code, which computes the same bits.
TEST(PastCaches, TimesThatAProgramIsRun) {
  const std::int64_t n = kMany / 4;
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {n}});
  const ts::ProgramPtr p = b.finish({{times_three(x), ops::gt(x, ops::full_like(x, 0))}});
  const std::int64_t once = 1, four = 4;
  const auto made = [] { return ts::codegen::kernel_stats(); };
  const auto near = ts::codegen::compile_kernels({&p, 1}, {&once, 1})[0];
  const auto before = made();
  const auto far = ts::codegen::compile_kernels({&p, 1}, {&four, 1})[0];
  EXPECT_EQ(made().from_memory, before.from_memory);  // it has its own kernel
  const ts::HostArray in = counting({n});
  for (bool at_end : {false, true}) {
    const auto a = run::fenced(*near, *p, {{in}}, at_end),
               c = run::fenced(*far, *p, {{in}}, at_end);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(std::memcmp(a[i].bytes, c[i].bytes, static_cast<std::size_t>(a[i].size_bytes())),
                0);
  }
}

// Tiles follow each other along the operand's rows. The sizes are not multiples of the tile, and
// there are dimensions before, between and after the two that are exchanged.
TEST(PastCaches, Transposed) {
  struct Case {
    ts::DType dtype;
    ts::Shape shape;
    ts::Ints order;
  };
  for (const Case& c :
       {Case{ts::f32, {2112, 4099}, {1, 0}}, Case{ts::f64, {1104, 4100}, {1, 0}},
        Case{ts::f32, {320, 66, 410}, {2, 1, 0}}, Case{ts::f32, {5, 1360, 1283}, {0, 2, 1}},
        Case{ts::bf16, {4128, 4099}, {1, 0}}}) {
    ts::Builder b;
    ts::Value x = b.input({c.dtype, c.shape});
    ts::Value y = ops::transpose(x, c.order);
    const ts::ProgramPtr p = b.finish({{ops::add(y, y)}});
    ts::HostArray in(c.dtype, c.shape);
    const std::int64_t bytes = ts::size_of(c.dtype);
    ts::dispatch(c.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, ts::bfloat16_t>)
        for (std::int64_t i = 0; i < c.shape.count(); ++i)
          in.data<T>()[i] = static_cast<T>(static_cast<float>(i % 127));
    });
    const ts::Shape strides = ts::byte_strides(c.shape, 1),
                    out_shape = p->type(p->outputs[0]).shape;
    const auto routine = run::compiled(p);
    for (bool at_end : {false, true}) {
      const std::vector<ts::HostArray> out = run::fenced(*routine, *p, {{in}}, at_end);
      std::int64_t wrong = 0;
      ts::dispatch(c.dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, ts::bfloat16_t>)
          for (std::int64_t i = 0; i < out_shape.count(); ++i) {
            std::int64_t rest = i, from = 0;
            for (int d = out_shape.rank(); d-- > 0; rest /= out_shape[d])
              from += rest % out_shape[d] *
                      strides[static_cast<int>(c.order[static_cast<std::size_t>(d)])];
            wrong += static_cast<float>(out[0].data<T>()[i]) != 2 * static_cast<float>(from % 127);
          }
      });
      EXPECT_EQ(wrong, 0) << ts::to_string(c.shape) << ' ' << bytes << " bytes"
                          << (at_end ? " at an end" : " at a beginning");
    }
  }
}

// The number of kernels that have been made so far, for any form of a program and from any source.
std::int64_t made_kernels() {
  const ts::codegen::KernelStats s = ts::codegen::kernel_stats();
  return s.compiled + s.from_disk;
}

// The results of four devices count together. A loop's carry on each device is read in the next
// iteration.
TEST(PastCaches, ResultsOfSeveralDevicesCountTogether) {
  const int before = ts::device_count();
  ts::set_device_count(4);
  {
    const ts::Mesh mesh({{"x", 4}});
    const std::int64_t n = kMany / 4;
    const auto f = [](ts::Array x) { return x * 5 + 2; };
    const auto turns = [](ts::Array x) {
      return ts::fori_loop(
          0, 2, [](ts::Array, ts::Array y) { return y * 5 + 2; }, x);
    };
    const ts::Array one = ts::arange(n).astype(ts::f32),
                    four = ts::device_put(ts::arange(4 * n).astype(ts::f32), mesh, ts::P("x"));
    ts::block_until_ready(ts::jit(f)(one));
    std::int64_t made = made_kernels();
    const auto loop = ts::jit(turns);
    (void)loop(one)(0).item<float>();
    made = made_kernels();
    (void)loop(four)(0).item<float>();
    EXPECT_EQ(made_kernels(), made);
    const ts::Array y = ts::jit(f)(four);
    EXPECT_EQ(made_kernels(), made + 1);
    const std::vector<float> values = y.to_vector<float>();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < 4 * n; ++i)
      wrong += values[static_cast<std::size_t>(i)] != static_cast<float>(i) * 5 + 2;
    EXPECT_EQ(wrong, 0);
  }
  ts::set_device_count(before);
}
