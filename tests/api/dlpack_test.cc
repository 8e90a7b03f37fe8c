// Memory that is passed between libraries: its owner, when it is copied, and what is refused.
#include <tessera/tessera.h>

#include "api/check.h"
#include "only_cpu.h"

#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <memory>

namespace ts = tessera;
using api_test::f32s;
using api_test::message;
using ts::Array;
using Floats = std::vector<float>;

namespace {

// Another library's tensor, which notes that it was returned.
struct Foreign {
  alignas(64) float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::int64_t> shape, strides;
  DLManagedTensor tensor{};
  int deleted = 0;

  explicit Foreign(std::vector<std::int64_t> extents, std::vector<std::int64_t> steps = {},
                   std::uint64_t offset = 0)
      : shape(std::move(extents)), strides(std::move(steps)) {
    tensor.dl_tensor.data = values;
    tensor.dl_tensor.device = {kDLCPU, 0};
    tensor.dl_tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dl_tensor.dtype = {kDLFloat, 32, 1};
    tensor.dl_tensor.shape = shape.data();
    tensor.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
    tensor.dl_tensor.byte_offset = offset;
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensor* t) { ++static_cast<Foreign*>(t->manager_ctx)->deleted; };
  }
};

TEST(DLPack, ForeignMemoryIsReadInPlace) {
  NEEDS_CPU(in_place);
  Foreign f({2, 4});
  {
    const ts::Array x = ts::from_dlpack(&f.tensor);
    EXPECT_EQ(x.shape(), (ts::Shape{2, 4}));
    EXPECT_EQ(static_cast<const void*>(x.host<float>().data()), f.values);
    EXPECT_EQ(f32s(x * 2), (Floats{0, 2, 4, 6, 8, 10, 12, 14}));
    const ts::Array y = x;
    EXPECT_EQ(f.deleted, 0);
  }
  EXPECT_EQ(f.deleted, 1);
}

// The arrays are large enough that a result would reuse the memory of an argument that nothing
// needs.
TEST(DLPack, ForeignMemoryIsNeverWritten) {
  constexpr std::size_t kCount = 1 << 16;
  struct alignas(64) Block {
    float values[kCount];
  };
  const auto block = std::make_unique<Block>();
  const auto lent = [&] {
    std::fill(block->values, block->values + kCount, 3.0f);
    auto* tensor = new DLManagedTensor{};
    static std::int64_t shape[] = {kCount};
    tensor->dl_tensor = {block->values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
    tensor->deleter = [](DLManagedTensor* t) { delete t; };
    return ts::from_dlpack(tensor);
  };
  const auto unchanged = [&](const char* how, const Array& result, float expected) {
    EXPECT_EQ(f32s(result), Floats(kCount, expected)) << how;
    EXPECT_EQ(std::count(block->values, block->values + kCount, 3.0f), std::ptrdiff_t{kCount})
        << how;
  };
  unchanged("an operation on a temporary", lent() * 2, 6);
  unchanged("a function of a temporary", ts::sqrt(lent() + 1), 2);
  const auto add = ts::jit([](Array x) { return x + 1; });
  unchanged("a jitted function of a temporary", add(lent()), 4);
  const auto take = ts::jit([](Array x) { return x + 1; }, {.donate = {0}});
  unchanged("a donation", take(lent()), 4);
  unchanged("an update of a temporary", lent().at(0).set(3.0), 3);
}

TEST(DLPack, ViewsAreKeptWhenTheirArraysAreDonated) {
  constexpr std::int64_t kCount = 1 << 16;
  Array x = ts::full({kCount}, 5.0f) + 0;
  DLManagedTensor* view = ts::to_dlpack(x);
  const Array y = ts::jit([](Array v) { return v * 2; }, {.donate = {0}})(x);
  EXPECT_TRUE(x.is_deleted());
  const Array noise = ts::full({kCount}, 9.0f) + y * 0;
  EXPECT_EQ(f32s(y), Floats(kCount, 10.0f));
  EXPECT_EQ(f32s(noise), Floats(kCount, 9.0f));
  const float* p = static_cast<const float*>(view->dl_tensor.data);
  EXPECT_EQ(std::count(p, p + kCount, 5.0f), kCount);
  view->deleter(view);
}

TEST(DLPack, WhatIsNotRowMajorIsCopied) {
  Foreign columns({4, 2}, {1, 4});
  const ts::Array x = ts::from_dlpack(&columns.tensor);
  EXPECT_EQ(columns.deleted, 1);
  EXPECT_EQ(f32s(x), (Floats{0, 4, 1, 5, 2, 6, 3, 7}));
  Foreign backwards({3}, {-2}, 6 * sizeof(float));
  EXPECT_EQ(f32s(ts::from_dlpack(&backwards.tensor)), (Floats{6, 4, 2}));
  Foreign repeated({2, 3}, {0, 1});
  EXPECT_EQ(f32s(ts::from_dlpack(&repeated.tensor)), (Floats{0, 1, 2, 0, 1, 2}));
  // Strides of extents of 1 have no meaning; memory that is not aligned is copied.
  Foreign one({1, 4}, {77, 1}, sizeof(float));
  const ts::Array y = ts::from_dlpack(&one.tensor);
  EXPECT_EQ(one.deleted, 1);
  EXPECT_EQ(f32s(y), (Floats{1, 2, 3, 4}));
  Foreign empty({0, 3});
  empty.tensor.dl_tensor.data = nullptr;
  EXPECT_EQ(ts::from_dlpack(&empty.tensor).shape(), (ts::Shape{0, 3}));
  EXPECT_EQ(empty.deleted, 1);
}

TEST(DLPack, ViewsOutliveTheirArrays) {
  DLManagedTensor* t = nullptr;
  {
    ts::Array x = ts::arange(6.0).reshape({2, 3}) + 1;
    t = ts::to_dlpack(x);
    EXPECT_EQ(t->dl_tensor.data, static_cast<const void*>(x.host<float>().data()));
  }
  const ts::Array noise = ts::ones({2, 3}) * 9;
  noise.block_until_ready();
  ASSERT_EQ(t->dl_tensor.ndim, 2);
  EXPECT_EQ(t->dl_tensor.shape[0], 2);
  EXPECT_EQ(t->dl_tensor.strides[0], 3);
  const float* p = static_cast<const float*>(t->dl_tensor.data);
  EXPECT_EQ(Floats(p, p + 6), (Floats{1, 2, 3, 4, 5, 6}));
  t->deleter(t);
}

TEST(DLPack, EveryDTypeGoesThereAndBack) {
  for (int d = 0; d < ts::kDTypeCount; ++d) {
    const ts::Array x = ts::arange(6).reshape({2, 3}).astype(static_cast<ts::DType>(d));
    const ts::Array y = ts::from_dlpack(ts::to_dlpack(x));
    EXPECT_EQ(y.dtype(), x.dtype());
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(y.astype(ts::c128).to_vector<std::complex<double>>(),
              x.astype(ts::c128).to_vector<std::complex<double>>());
  }
}

TEST(DLPack, ArraysOverDevicesArePutTogether) {
  ts::set_device_count(4);
  const ts::Array x =
      ts::device_put(ts::arange(8.0), ts::Sharding(ts::Mesh({{"x", 4}}), ts::P("x")));
  EXPECT_EQ(f32s(ts::from_dlpack(ts::to_dlpack(x))), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(DLPack, WhatIsRefusedIsGivenBack) {
  const auto refused = [](auto&& change) {
    Foreign f({2, 4});
    change(f);
    const std::string text = message<ts::Error>([&] { ts::from_dlpack(&f.tensor); });
    EXPECT_EQ(f.deleted, 1);
    return text.substr(0, text.find("\n  try"));
  };
  EXPECT_EQ(refused([](Foreign& f) { f.tensor.dl_tensor.device.device_type = kDLCUDA; }),
            "from_dlpack: the tensor is in memory of kind 2 of DLPack\n"
            "  rule: memory that the CPU reads is of kind 1, 3 or 11");
  EXPECT_EQ(refused([](Foreign& f) {
              f.tensor.dl_tensor.dtype = {kDLFloat, 32, 4};
            }),
            "from_dlpack: the tensor's elements are of code 2, 32 bits, 4 lanes\n"
            "  rule: elements are booleans, integers of 8 to 64 bits, float16, bfloat16, float32, "
            "float64, complex64 or complex128, of one lane");
  EXPECT_EQ(refused([](Foreign& f) { f.shape[0] = -2; }),
            "from_dlpack: the tensor is of shape (-2, 4)\n"
            "  rule: extents are 0 or more, and their bytes less than 2^63");
  EXPECT_EQ(refused([](Foreign& f) { f.shape[0] = std::int64_t{1} << 60; }),
            "from_dlpack: the tensor is of shape (1152921504606846976, 4)\n"
            "  rule: extents are 0 or more, and their bytes less than 2^63");
  EXPECT_EQ(refused([](Foreign& f) { f.tensor.dl_tensor.data = nullptr; }),
            "from_dlpack: the tensor of shape (2, 4) has no memory\n"
            "  rule: a tensor with elements has memory");
  EXPECT_EQ(message<ts::Error>([] { ts::from_dlpack(nullptr); }).substr(0, 34),
            "from_dlpack: there is no tensor\n  ");
}

}  // namespace
