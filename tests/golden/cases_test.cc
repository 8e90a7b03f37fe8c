// Results equal those of JAX 0.10.2, case by case. Integers, booleans and data movement are exact.
// Floating results may differ by the rounding of both sides: a few units in the last place of the
// largest intermediate, which the table of tolerances bounds by function.
#include "golden/golden.h"

#include <tessera/elementwise.h>
#include <tessera/safetensors.h>

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace golden {

namespace ts = tessera;

std::vector<std::int64_t> numbers(const std::string& text) {
  std::vector<std::int64_t> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t comma = std::min(text.find(',', at), text.size());
    out.push_back(std::stoll(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return out;
}

std::vector<Case> load_cases() {
  std::map<std::string, Array> tensors;
  for (const char* name : {"jax", "ops"})
    tensors.merge(
        ts::load_safetensors(std::string(TESSERA_TEST_DIR "/golden/") + name + ".safetensors")
            .tensors);
  std::map<std::string, Case> cases;
  for (const auto& [name, x] : tensors) {
    std::size_t slash = name.rfind('/');
    std::string key = name.substr(0, slash), slot = name.substr(slash + 1);
    Case& c = cases[key];
    c.name = key;
    c.function = key.substr(0, key.find(':'));
    // function:variant:dtypes, and variants of slices hold colons themselves.
    std::size_t last = key.rfind(':');
    c.variant = key.substr(c.function.size() + 1,
                           last > c.function.size() ? last - c.function.size() - 1 : 0);
    auto& list = slot[0] == 'i' ? c.in : c.out;
    std::size_t index = std::stoul(slot.substr(slot[0] == 'i' ? 2 : 3));
    if (list.size() <= index) list.resize(index + 1);
    list[index] = x;
  }
  std::vector<Case> out;
  for (auto& [key, c] : cases) out.push_back(std::move(c));
  return out;
}

namespace {

const std::map<std::string, Function>& table() {
  static const auto* t = [] {
    auto* m = new std::map<std::string, Function>;
    add_elementwise(*m);
    add_arrays(*m);
    add_random(*m);
    add_derivatives(*m);
    add_ops(*m);
    return m;
  }();
  return *t;
}

// The units in the last place by which results may differ. Both libraries use vector approximations
// with errors of 1-4 ulp per operation.
double ulps(const std::string& f) {
  if (f.rfind("hess_", 0) == 0 || f.rfind("grad_", 0) == 0 || f.find("_grad") != std::string::npos)
    return 64;
  if (f == "conv" || f == "einsum" || f == "dot" || f == "matmul" || f == "tensordot" ||
      f == "inner")
    return 32;                       // sums of <= 36 products
  if (f == "gammaln") return 16;     // JAX is off by 11 at 0.7
  if (f == "polygamma") return 256;  // JAX computes it by the exponential of a logarithm
  if (f == "normal" || f == "truncated_normal" || f == "gumbel" || f == "exponential") return 16;
  return 8;
}

double unit(ts::DType d) {
  switch (d) {
    case ts::f64: return 0x1p-52;
    case ts::f32: return 0x1p-23;
    case ts::f16: return 0x1p-10;
    default: return 0x1p-7;
  }
}

std::vector<double> as_doubles(const Array& x) {
  return ts::dispatch_real(x.dtype(), [&](auto tag) {
    std::vector<double> out;
    for (auto v : x.to_vector<decltype(tag)>()) {
      if constexpr (std::is_class_v<decltype(tag)>)
        out.push_back(static_cast<double>(static_cast<float>(v)));
      else
        out.push_back(static_cast<double>(v));
    }
    return out;
  });
}

// Whether f may cancel: differences, and sums of terms of either sign. Their error is relative to
// the largest operand, all others' to the result. gelu is included because JAX computes 1 +
// tanh(u), which cancels below zero: its results are up to 19 units from the exact ones, ours 3.
bool cancels(const std::string& f) {
  static const std::set<std::string> all{
      "add",         "subtract",  "sum",       "mean",   "var",
      "std",         "dot",       "matmul",    "einsum", "inner",
      "tensordot",   "conv",      "conv_grad", "cumsum", "trace",
      "logsumexp",   "at_add",    "logaddexp", "gumbel", "cross_entropy",
      "log_softmax", "remainder", "uniform",   "normal", "truncated_normal",
      "gelu"};
  return all.contains(f) || f.rfind("grad_", 0) == 0 || f.rfind("hess_", 0) == 0;
}

// The largest finite magnitude among operands and results, at least 1.
double largest(const Case& c) {
  double most = 1;
  for (const std::vector<Array>& arrays : {c.in, c.out})
    for (const Array& x : arrays)
      if (ts::is_floating(x.dtype()))
        for (double v : as_doubles(x))
          if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  return most;
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, EqualsJax) {
  const Case& c = GetParam();
  auto f = table().find(c.function);
  ASSERT_NE(f, table().end()) << "no function for " << c.name;
  std::vector<Array> got = f->second(c.in, c.variant);
  ASSERT_EQ(got.size(), c.out.size());
  const double operands = cancels(c.function) ? largest(c) : 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const Array& e = c.out[k];
    EXPECT_EQ(got[k].dtype(), e.dtype());
    EXPECT_EQ(got[k].shape(), e.shape());
    if (got[k].dtype() != e.dtype() || got[k].shape() != e.shape()) continue;
    std::vector<double> g = as_doubles(got[k]), w = as_doubles(e);
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (std::isnan(w[i]) || std::isinf(w[i]) || !ts::is_floating(e.dtype())) {
        EXPECT_TRUE((std::isnan(w[i]) && std::isnan(g[i])) || g[i] == w[i])
            << "element " << i << ": " << g[i] << " for " << w[i];
        continue;
      }
      // 16-bit results are nearly equal float32 values, rounded once.
      double n = size_of(e.dtype()) == 2 ? 2 : ulps(c.function);
      EXPECT_LE(std::fabs(g[i] - w[i]), n * unit(e.dtype()) * std::max(operands, std::fabs(w[i])))
          << "element " << i << ": " << g[i] << " for " << w[i];
    }
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string s;
  for (char ch : info.param.name) s += std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
  return s + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Jax, Golden, testing::ValuesIn(load_cases()), case_name);

}  // namespace
}  // namespace golden
