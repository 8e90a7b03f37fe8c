// Every op's examples on a plug-in give what the op's evaluator gives.
#include "../parts.h"
#include "ops/registry_values.h"
#include "ops/registry_walk.h"
#include "other_plugin.h"
#include "runtime/backend.h"
#include "runtime/programs.h"

#include <tessera/platform.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace ts = tessera;

namespace {

ts::runtime::Backend& platform() {
  static ts::runtime::Backend& loaded = []() -> ts::runtime::Backend& {
    if (const char* other = std::getenv("TESSERA_TEST_PLUGIN")) {
      ts::load_platform("ops_there", other, test::other_devices(8));
    } else {
      ts::load_platform("ops_there", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{8}}});
    }
    return *ts::runtime::find_backend("ops_there");
  }();
  return loaded;
}

/// Results that the definition of an op leaves open: signs and phases of vectors.
const std::map<std::string, std::set<std::size_t>> kOpen{{"svd", {1, 2}}, {"eigh", {1}}};
/// Examples by number that change one element several times, in an order that is left open, or count
/// a reduction's initial value more than once on other compilers.
const std::map<std::string, std::set<int>> kOrders{{"scatter", {2, 3, 4}}, {"reduce", {2}}};

double tolerance(ts::DType d) {
  const std::int64_t bytes = ts::size_of(ts::is_complex(d) ? ts::real_dtype(d) : d);
  return bytes <= 2 ? 2e-2 : bytes == 4 ? 5e-5 : 1e-10;
}

void expect_close(const ts::HostArray& got_, const ts::HostArray& want_) {
  ASSERT_EQ(got_.dtype, want_.dtype);
  ASSERT_EQ(got_.shape, want_.shape);
  const ts::HostArray got = parts::of(got_), want = parts::of(want_);
  double scale = 1e-3;
  for (std::int64_t i = 0; i < want.count(); ++i)
    if (std::isfinite(want.number(i))) scale = std::max(scale, std::fabs(want.number(i)));
  const double bound = ts::is_inexact(want_.dtype) ? tolerance(want_.dtype) * scale : 0;
  for (std::int64_t i = 0; i < want.count(); ++i) {
    const double a = got.number(i), b = want.number(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::fabs(a - b), bound) << "element " << i << ": " << a << ", not " << b;
  }
}

class OpsOnPlatform : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(OpsOnPlatform, ExamplesGiveWhatTheEvaluatorGives) {
  const ts::Op& op = ts::Registry::get().at(GetParam());
  if (op.effect || op.lowering == ts::Lowering::collective || op.name == "pvary" ||
      op.name == "custom_vjp_tangent")
    GTEST_SKIP() << "it needs the host or a map over devices, or has no value";
  walk::Random random(7);
  int number = -1;
  for (const ts::OpExample& e : op.examples()) {
    ++number;
    const auto orders = kOrders.find(op.name);
    if (orders != kOrders.end() && orders->second.contains(number)) continue;
    SCOPED_TRACE("example " + std::to_string(number));
    const ts::ProgramPtr p = walk::program_of(op, e);
    walk::Arrays in;
    std::vector<ts::runtime::ArrayDataPtr> there;
    const auto here = ts::runtime::intern(
        ts::runtime::on_device(platform().device_count() - 1, true, &platform()));
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
      in.push_back(walk::draw_operand(e, i, e.inputs[i], random));
      there.push_back(ts::runtime::relayout(rt::put(in.back()), here));
    }
    const walk::Arrays want = walk::run(*p, in);
    const auto made =
        ts::runtime::compile(p, {.name = op.name, .donated = {}}, platform())->run(there);
    ASSERT_EQ(made.size(), want.size());
    const auto open = kOpen.find(op.name);
    for (std::size_t k = 0; k < want.size(); ++k) {
      if (open != kOpen.end() && open->second.contains(k)) continue;
      SCOPED_TRACE("result " + std::to_string(k));
      expect_close(rt::host(*made[k]), want[k]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpsOnPlatform, testing::ValuesIn(walk::op_names()), walk::test_name);
