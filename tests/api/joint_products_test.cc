// A sum over devices of products over few rows is computed as one product over the rows of all
// devices.
#include "only_cpu.h"
#include "runtime/host/devices.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

namespace ts = tessera;
using ts::Array;

namespace {

// x^T g of a device's rows, summed over the devices. The factors are computed inside the function.
Array sum_of_products(Array x, Array g) {
  return ts::psum(ts::einsum("ri,rj->ij", {x * 2, g + 1}), "i");
}

class JointProducts : public ::testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(8); }
  const ts::PmapOptions options{.axis_name = "i", .out_axes = ts::replicated};
};

TEST_F(JointProducts, AreExactOnIntegers) {
  constexpr int kDevices = 8, kRows = 3, kM = 70, kN = 50;
  std::vector<float> x(kDevices * kRows * kM), g(kDevices * kRows * kN), want(kM * kN);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11) - 5;
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = static_cast<float>(i % 7) - 3;
  for (int r = 0; r < kDevices * kRows; ++r)
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN; ++j)
        want[static_cast<std::size_t>(i * kN + j)] += 2 * x[static_cast<std::size_t>(r * kM + i)] *
                                                      (g[static_cast<std::size_t>(r * kN + j)] + 1);
  auto f = ts::pmap(sum_of_products, options);
  Array got =
      f(ts::array(x).reshape(kDevices, kRows, kM), ts::array(g).reshape(kDevices, kRows, kN));
  EXPECT_EQ(got.to_vector<float>(), want);
}

TEST_F(JointProducts, AreTheBitsOfOneDeviceWithAllRows) {
  NEEDS_CPU(same_bits);
  Array x = ts::random::normal(ts::random::key(1), {8, 5, 200}),
        g = ts::random::normal(ts::random::key(2), {8, 5, 100});
  auto f = ts::pmap(sum_of_products, options);
  Array several = f(x, g), one = f(x.reshape(1, 40, 200), g.reshape(1, 40, 100));
  EXPECT_EQ(several.to_vector<float>(), one.to_vector<float>());
  ts::runtime::set_isolated(true);
  Array isolated = ts::pmap(sum_of_products, options)(x, g);
  std::vector<float> values = isolated.to_vector<float>();
  ts::runtime::set_isolated(false);
  EXPECT_EQ(values, one.to_vector<float>());
}

TEST_F(JointProducts, SendNoProducts) {
  NEEDS_CPU(schedules);
  auto f = ts::pmap(sum_of_products, options);
  std::string few = f.lower(ts::zeros({8, 5, 200}), ts::zeros({8, 5, 100})).schedule(),
              many = f.lower(ts::zeros({8, 500, 20}), ts::zeros({8, 500, 10})).schedule();
  EXPECT_EQ(few.find("psum"), std::string::npos) << few;
  EXPECT_NE(many.find("psum"), std::string::npos) << many;
}

}  // namespace
