// Functions of docs/names.md equal those of JAX 0.10.2 on drawn arrays: they are called outside
// traces, and either in jit or mapped, which alternate from case to case and from commit to commit
// (share.h). Integers, booleans and elements that are only moved are exact; floats may differ by a
// few units in the last place of the largest magnitude among operands and results, because most of
// them are sums of differences.
#include "golden/names.h"
#include "share.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/reductions.h>
#include <tessera/safetensors.h>
#include <tessera/vmap.h>

#include <gtest/gtest.h>

#include <cmath>

namespace golden {

namespace ts = tessera;

namespace {

struct NamedCase {
  std::string name, function, arguments;
  bool gradient = false;
  Arrays in, out;
};

std::vector<NamedCase> cases_of(const std::string& theme) {
  const std::string path = TESSERA_TEST_DIR "/golden/names_" + theme + ".safetensors";
  std::map<std::string, NamedCase> cases;
  for (const auto& [name, x] : ts::load_safetensors(path).tensors) {
    const std::size_t slash = name.rfind('/'), colon = name.find(':');
    const std::string key = name.substr(0, slash), slot = name.substr(slash + 1);
    NamedCase& c = cases[key];
    c.name = key;
    c.function = key.substr(0, colon);
    c.gradient = c.function.rfind("grad ", 0) == 0;
    if (c.gradient) c.function = c.function.substr(5);
    c.arguments = key.substr(colon + 1, key.rfind(':') - colon - 1);
    Arrays& list = slot[0] == 'i' ? c.in : c.out;
    const std::size_t index = std::stoul(slot.substr(slot[0] == 'i' ? 2 : 3));
    if (list.size() <= index) list.resize(index + 1);
    list[index] = x;
  }
  std::vector<NamedCase> out;
  for (auto& [key, c] : cases) out.push_back(std::move(c));
  return out;
}

const Table& table() {
  static const auto* t = [] {
    auto* m = new Table;
    add_shapes(*m);
    add_statistics(*m);
    add_sets(*m);
    add_special(*m);
    return m;
  }();
  return *t;
}

double unit(ts::DType d) {
  switch (d) {
    case ts::f64: return 0x1p-52;
    case ts::f16: return 0x1p-10;
    case ts::bf16: return 0x1p-7;
    default: return 0x1p-23;
  }
}
std::vector<double> doubles(const Array& x) { return ts::astype(x, ts::f64).to_vector<double>(); }

double largest(const NamedCase& c) {
  double most = 1;
  for (const Arrays& arrays : {c.in, c.out})
    for (const Array& x : arrays)
      if (ts::is_floating(x.dtype()))
        for (double v : doubles(x))
          if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  return most;
}

// Describes a difference, or returns an empty text.
std::string difference(const NamedCase& c, const Arrays& got, double ulps, bool relative) {
  std::ostringstream text;
  if (got.size() != c.out.size()) {
    text << got.size() << " results for " << c.out.size();
    return text.str();
  }
  for (std::size_t k = 0; k < got.size(); ++k) {
    const Array& e = c.out[k];
    if (got[k].dtype() != e.dtype() || got[k].shape() != e.shape()) {
      text << "result " << k << " is " << ts::describe(got[k]) << " for " << ts::describe(e);
      return text.str();
    }
    const std::vector<double> g = doubles(got[k]), w = doubles(e);
    const double units = ts::is_floating(e.dtype()) ? ulps * unit(e.dtype()) : 0;
    const double most = relative ? 0 : largest(c);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double size = relative ? std::fabs(w[i]) : most;
      const bool same = (std::isnan(w[i]) && std::isnan(g[i])) || g[i] == w[i] ||
                        std::fabs(g[i] - w[i]) <= units * size;
      if (!same)
        text << "result " << k << " element " << i << ": " << g[i] << " for " << w[i] << " ("
             << std::fabs(g[i] - w[i]) / unit(e.dtype()) / size << " units)\n";
    }
  }
  return text.str();
}

// The gradients of a weighted sum of the first result by all float inputs.
Arrays gradients(const Named& n, const NamedCase& c) {
  const Arguments a(c.arguments);
  const Arrays g = ts::grad([&](Arrays in) {
    const Array y = n.f(in, a)[0];
    const Array weight = 1 + 0.25 * ts::astype(ts::arange(y.size()) % 5, y.dtype());
    return ts::sum(y * weight.reshape(y.shape()));
  })(c.in);
  Arrays there;
  for (const Array& x : g)
    if (!x.is_empty()) there.push_back(x);
  return there;
}

Arrays first_rows(Arrays xs) {
  for (Array& x : xs) x = x[0];
  return xs;
}

void run_theme(const std::string& theme, std::size_t least) {
  const std::vector<NamedCase> cases = cases_of(theme);
  EXPECT_GE(cases.size(), least);
  std::uint64_t turn = test::turn();
  for (const NamedCase& c : cases) {
    SCOPED_TRACE(c.name);
    const auto found = table().find(c.function);
    if (found == table().end()) {
      ADD_FAILURE() << "no function for it";
      continue;
    }
    const Named& n = found->second;
    const Arguments a(c.arguments);
    try {
      if (c.gradient) {
        EXPECT_EQ(difference(c, gradients(n, c), 8 * n.ulps, n.relative), "");
        continue;
      }
      EXPECT_EQ(difference(c, n.f(c.in, a), n.ulps, n.relative), "");
      if (!n.traces || c.in.empty()) continue;
      auto f = [&](Arrays in) { return n.f(in, a); };
      const bool mapped = ++turn % 2 == 0;
      if (test::all_cases() || !mapped) {
        EXPECT_EQ(difference(c, ts::jit(f)(c.in), n.ulps, n.relative), "") << "in jit";
      }
      if (!test::all_cases() && !mapped) continue;
      Arrays twice;
      for (const Array& x : c.in) twice.push_back(ts::stack({x, x}));
      EXPECT_EQ(difference(c, first_rows(ts::vmap(f)(twice)), n.ulps, n.relative), "") << "in vmap";
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

// The number of cases is checked, so that none is lost.
TEST(NamesGolden, Stacking) { run_theme("stacking", 297); }
TEST(NamesGolden, Grids) { run_theme("grids", 155); }
TEST(NamesGolden, Numeric) { run_theme("numeric", 110); }
TEST(NamesGolden, Statistics) { run_theme("statistics", 430); }
TEST(NamesGolden, Calculus) { run_theme("calculus", 292); }
TEST(NamesGolden, Sets) { run_theme("sets", 562); }
TEST(NamesGolden, Halves) { run_theme("halves", 697); }
TEST(NamesGolden, Special) { run_theme("special", 118); }

}  // namespace
}  // namespace golden
