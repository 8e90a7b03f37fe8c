// The work of devices that take different branches: each process counts the mean over its own
// devices, and the mean of these, weighted by the numbers of devices, is that of the job. Runs in
// one process and in several.
#include "only_cpu.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <functional>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

void enough_devices() {
  if (ts::device_count() < 8) ts::set_device_count(8);
}

// The number of this process's devices at either position along the first of two axes.
std::vector<double> own_devices(std::int64_t rows, std::int64_t columns) {
  std::vector<double> own(static_cast<std::size_t>(rows));
  const int each = ts::device_count() / ts::process_count();
  for (std::int64_t d = 0; d < rows * columns; ++d)
    if (d / each == ts::process_index()) ++own[static_cast<std::size_t>(d / columns)];
  return own;
}

// The work of the job, as docs/plans.md defines it.
ts::MeasuredWork of_all(const ts::MeasuredWork& own, double devices) {
  const Array sums = ts::sum(ts::process_allgather(ts::array(std::vector<double>{
                                 devices, devices * own.flops, devices * own.moved_bytes})),
                             0);
  const std::vector<double> all = sums.to_vector<double>();
  return {.flops = all[1] / all[0], .moved_bytes = all[2] / all[0]};
}

void expect_means(const ts::Mesh& mesh, std::int64_t columns,
                  const std::function<Array(Array, Array)>& f) {
  const auto rows =
      ts::shard_map([&](Array turns, Array block) { return f(turns.reshape(ts::Shape{}), block); },
                    {.mesh = mesh, .in_specs = {P("x"), P("x")}, .out_specs = P("x")});
  const auto with = [&](std::vector<std::int32_t> turns) {
    const Array each = ts::array(turns), x = ts::ones({2, 8 * columns});
    const ts::WorkCounter counter;
    rows(each, x);
    return counter.total();
  };
  const std::vector<double> own = own_devices(2, columns);
  const double devices = own[0] + own[1];
  const ts::MeasuredWork one = with({1, 1}), three = with({3, 3}), mixed = with({1, 3});
  // 0 in a process without devices here.
  const auto mean = [](double a, double b, const std::vector<double>& of) {
    return of[0] + of[1] == 0 ? 0 : (of[0] * a + of[1] * b) / (of[0] + of[1]);
  };
  EXPECT_EQ(mixed.flops, mean(one.flops, three.flops, own));
  EXPECT_EQ(mixed.moved_bytes, mean(one.moved_bytes, three.moved_bytes, own));
  const ts::MeasuredWork all_one = of_all(one, devices), all_three = of_all(three, devices),
                         all = of_all(mixed, devices);
  EXPECT_GT(all_three.flops, all_one.flops);
  EXPECT_EQ(all.flops, mean(all_one.flops, all_three.flops, {1, 1}));
  EXPECT_EQ(all.moved_bytes, mean(all_one.moved_bytes, all_three.moved_bytes, {1, 1}));
}

}  // namespace

// Rows run 1 and 3 iterations by themselves. Of 2 x 3 devices, a process of 4 has 3 devices of one
// row and 1 of the other.
TEST(JobWork, RowsThatGoOnForDifferentlyLong) {
  NEEDS_CPU(schedules);
  enough_devices();
  const ts::Mesh mesh({{"x", 2}, {"y", 3}});
  expect_means(mesh, 3, [](Array turns, Array block) {
    return ts::fori_loop(
        0, turns, [](Array, Array c) { return c * 2; }, block);
  });
}

// They also communicate in each iteration: 32 B to 4 devices.
TEST(JobWork, RowsThatCommunicate) {
  NEEDS_CPU(schedules);
  enough_devices();
  const ts::Mesh mesh({{"x", 2}, {"y", 4}});
  const auto f = [](Array turns, Array block) {
    return ts::fori_loop(
        0, turns, [](Array, Array c) { return ts::psum(c * ts::axis_index("y"), "y"); }, block);
  };
  expect_means(mesh, 4, f);
}
