// Golden values of an example: <name>.safetensors, made by <name>.py.
#pragma once

#include <tessera/safetensors.h>
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace example_test {

class Golden {
 public:
  explicit Golden(const std::string& name)
      : file_(tessera::load_safetensors(TESSERA_TEST_DIR "/examples/" + name + ".safetensors")) {}

  const tessera::Array& operator[](const std::string& name) const { return file_.tensors.at(name); }
  /// Compares dtype, shape and values exactly.
  void equal(const tessera::Array& x, const std::string& name) const {
    EXPECT_TRUE(tessera::tree::equal(x, file_.tensors.at(name))) << name << " is\n"
                                                                 << x << "\nin JAX\n"
                                                                 << file_.tensors.at(name);
  }
  /// Compares dtype and shape exactly, and values up to `tolerance`.
  void near(const tessera::Array& x, const std::string& name, double tolerance) const {
    const tessera::Array& y = file_.tensors.at(name);
    ASSERT_EQ(x.dtype(), y.dtype()) << name;
    ASSERT_EQ(x.shape(), y.shape()) << name;
    auto got = x.host<float>(), want = y.host<float>();
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::fmax(
          worst, std::isfinite(got[i]) ? std::abs(double(got[i]) - double(want[i])) : HUGE_VAL);
    EXPECT_LE(worst, tolerance) << name << " is\n" << x << "\nin JAX\n" << y;
  }

 private:
  tessera::SafeTensors file_;
};

}  // namespace example_test
