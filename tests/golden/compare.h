// The golden cases of one file, and comparison with them.
#pragma once

#include <tessera/elementwise.h>
#include <tessera/safetensors.h>

#include "golden/golden.h"

#include <gtest/gtest.h>

#include <cmath>

namespace golden {

inline std::vector<Case> cases_of(const std::string& file) {
  std::map<std::string, Case> cases;
  const auto tensors =
      tessera::load_safetensors(TESSERA_TEST_DIR "/golden/" + file + ".safetensors").tensors;
  for (const auto& [name, x] : tensors) {
    const std::size_t slash = name.rfind('/');
    const std::string key = name.substr(0, slash), slot = name.substr(slash + 1);
    Case& c = cases[key];
    c.name = key;
    c.function = key.substr(0, key.find(':'));
    const std::size_t last = key.rfind(':');
    if (last != std::string::npos && last > c.function.size())
      c.variant = key.substr(c.function.size() + 1, last - c.function.size() - 1);
    auto& list = slot[0] == 'i' ? c.in : c.out;
    const std::size_t index = std::stoul(slot.substr(slot[0] == 'i' ? 2 : 3));
    if (list.size() <= index) list.resize(index + 1);
    list[index] = x;
  }
  std::vector<Case> out;
  for (auto& [key, c] : cases) out.push_back(std::move(c));
  return out;
}

inline std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string s;
  for (char ch : info.param.name) s += std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
  return s + "_" + std::to_string(info.index);
}

/// The unit in the last place of a dtype at 1.
inline double unit_of(tessera::DType d) {
  switch (d) {
    case tessera::f64: return 0x1p-52;
    case tessera::f32: return 0x1p-23;
    case tessera::f16: return 0x1p-10;
    default: return 0x1p-7;
  }
}

/// The largest finite |x|; for results that are sums, about the size of their terms.
inline double largest_of(const Array& x) {
  double most = 0;
  if (tessera::is_floating(x.dtype()))
    for (const double v : x.astype(tessera::f64).to_vector<double>())
      if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  return most;
}

/// Compares dtype and shape; floats may differ by `ulps` units of max(|expected|, floor),
/// everything else must be equal.
inline void expect_near(const Array& got, const Array& expected, double ulps, double floor = 0) {
  ASSERT_EQ(got.dtype(), expected.dtype());
  ASSERT_EQ(got.shape(), expected.shape());
  if (!tessera::is_floating(got.dtype())) {
    EXPECT_TRUE(tessera::array_equal(got, expected).item<bool>()) << got << "\nfor " << expected;
    return;
  }
  const auto g = got.astype(tessera::f64).to_vector<double>(),
             w = expected.astype(tessera::f64).to_vector<double>();
  int shown = 0;
  for (std::size_t i = 0; i < w.size() && shown < 4; ++i) {
    const bool same = g[i] == w[i] || (std::isnan(g[i]) && std::isnan(w[i]));
    const double most = ulps * unit_of(got.dtype()) * std::max(std::fabs(w[i]), floor);
    if (same || std::fabs(g[i] - w[i]) <= most) continue;
    ++shown;
    ADD_FAILURE() << "element " << i << ": " << g[i] << " for " << w[i] << ", off by "
                  << std::fabs(g[i] - w[i]) / most << " times what is allowed";
  }
}

}  // namespace golden
