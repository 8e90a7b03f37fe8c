// Modules that JAX's own tests compile, where they are at hand in a folder beside the project; they
// are no part of it.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

namespace ts = tessera;
using ts::Array;

namespace {

namespace fs = std::filesystem;

class ShardedCases : public testing::Test {
 protected:
  ShardedCases() { ts::set_device_count(8); }
  ~ShardedCases() override { ts::set_device_count(before_); }
  const int before_ = ts::device_count();
};

// Empty where it is not at hand.
std::string path_of(const char* name) {
  for (const char* root : {"/../shared", "/../../shared"}) {
    const fs::path path = fs::path(TESSERA_SOURCE_DIR + std::string(root)) / "pjrt_cases" / name;
    if (fs::exists(path)) return path.string();
  }
  return {};
}

// The file's only result on 0, 1, 2, ... in the shape of its only argument, with its shardings and
// without.
void expect_result(const char* name, const std::function<Array(Array)>& want) {
  const std::string path = path_of(name);
  if (path.empty()) GTEST_SKIP() << name << " is not at hand";
  for (const bool shardings : {true, false}) {
    const auto f = ts::load_stablehlo(path, {.shardings = shardings});
    ASSERT_EQ(f.inputs().size(), 1u);
    const ts::Shape shape = f.inputs()[0].shape;
    const Array x = ts::arange(shape.count()).astype(ts::f32).reshape(shape), y = f(x)[0];
    EXPECT_TRUE(ts::array_equal(y, want(x)).item<bool>()) << name << y;
  }
}

// A sum over the one device of a mesh.
TEST_F(ShardedCases, AllReduceOfOneDevice) {
  expect_result("all_reduce_manual.mlirbc", [](Array x) { return x; });
}

// Squares, whose blocks along "i" and then along "j" are computed for each device.
TEST_F(ShardedCases, NestedManualComputation) {
  expect_result("nested_manual.mlirbc", [](Array x) { return x * x; });
}

// Devices have parts of a sum that is the array; the array itself is what it was.
TEST_F(ShardedCases, UnreducedAxes) {
  expect_result("unreduced_axes.mlirbc", [](Array x) { return x; });
}

// Twice each device's element, declared to be the same on all: JAX shows the first one's.
TEST_F(ShardedCases, UncheckedResult) {
  expect_result("unchecked.mlir",
                [](Array x) { return ts::zeros({x.shape()[0] / 8}) + 2 * x.flatten()[0]; });
}

}  // namespace
