// A folder of a test's own, and small trees to save in it.
#pragma once

#include <tessera/array.h>
#include <tessera/device.h>
#include <tessera/tree.h>

#include "checkpoints/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace checkpoint_test {

namespace fs = std::filesystem;

class InFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "tessera-checkpoints-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir = name;
    tessera::set_device_count(8);
  }
  void TearDown() override { fs::remove_all(dir); }
  static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> all;
    for (const auto& e : fs::directory_iterator(folder)) all.push_back(e.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  /// What an error says, with the folder's name, which is drawn, as "DIR".
  std::string plain(std::string text) const {
    for (std::size_t at; (at = text.find(dir)) != std::string::npos;)
      text.replace(at, dir.size(), "DIR");
    return text;
  }
  std::string dir;
};

/// Bit by bit, with dtypes and weakness.
inline testing::AssertionResult same(const tessera::Array& a, const tessera::Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || a.weak_type() != b.weak_type())
    return testing::AssertionFailure() << describe(a) << " and " << describe(b);
  const auto bytes = [](const tessera::Array& x) {
    const tessera::Array whole = tessera::device_get(x);
    return tessera::dispatch(x.dtype(), [&](auto tag) {
      const auto values = whole.host<decltype(tag)>();
      return std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    });
  };
  if (bytes(a) != bytes(b)) return testing::AssertionFailure() << a << " and " << b;
  return testing::AssertionSuccess();
}
template <class T>
testing::AssertionResult same(const T& a, const T& b) {
  const auto x = tessera::tree::leaves(a), y = tessera::tree::leaves(b);
  const auto paths = tessera::tree::paths(a);
  if (x.size() != y.size()) return testing::AssertionFailure() << "other leaves";
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].is_empty() != y[i].is_empty()) return testing::AssertionFailure() << paths[i];
    if (x[i].is_empty()) continue;
    if (auto result = same(x[i], y[i]); !result) return result << " at " << paths[i];
  }
  return testing::AssertionSuccess();
}

}  // namespace checkpoint_test
