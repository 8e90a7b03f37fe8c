#include "../specs.h"
#include "programs.h"

#include <cmath>

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

class OnDevices : public testing::TestWithParam<int> {
 protected:
  std::int64_t n() const { return GetParam(); }
  ts::MeshShape mesh() const { return {{"i"}, {n()}}; }
  // Checks a body with one operand, [n * rows, columns...], sharded along its first dimension.
  void check(const ts::Shape& block, const std::string& out, const Body& body,
             ts::DType dtype = ts::f32) {
    ts::Shape whole = block;
    whole[0] *= n();
    Sharded(mesh(), {ts::Type(dtype, whole)}, {"i"}, {out}, body).check();
  }
};

}  // namespace

TEST_P(OnDevices, Psum) {
  for (ts::DType d : {ts::f32, ts::f64, ts::bf16, ts::f16, ts::i32, ts::u8, ts::i64})
    check(
        {3, 2}, "",
        [&](ts::Builder&, ts::Values x) { return ts::Values{ops::psum(x[0], {"i"}, n())}; }, d);
}
TEST_P(OnDevices, PmaxAndPmin) {
  for (ts::DType d : {ts::f32, ts::i32, ts::bool_, ts::bf16}) {
    check(
        {2, 2}, "",
        [&](ts::Builder&, ts::Values x) { return ts::Values{ops::pmax(x[0], {"i"}, n())}; }, d);
    check(
        {2, 2}, "",
        [&](ts::Builder&, ts::Values x) { return ts::Values{ops::pmin(x[0], {"i"}, n())}; }, d);
  }
}
TEST_P(OnDevices, AllGather) {
  for (int axis : {0, 1})
    for (bool tiled : {false, true}) {
      check({2, 3}, "", [&](ts::Builder&, ts::Values x) {
        return ts::Values{ops::all_gather(x[0], {"i"}, n(), axis, tiled)};
      });
      check({2, 3}, "", [&](ts::Builder&, ts::Values x) {
        return ts::Values{ops::all_gather(ops::neg(x[0]), {"i"}, n(), axis, tiled)};
      });
    }
}
TEST_P(OnDevices, PsumScatter) {
  for (int axis : {0, 1}) {
    ts::Shape block{2 * n(), 3 * n()};
    check(block, "i", [&](ts::Builder&, ts::Values x) {
      return ts::Values{ops::psum_scatter(x[0], {"i"}, n(), axis, true)};
    });
    block = {3, 3};
    block[static_cast<std::size_t>(axis)] = n();
    check(block, "i", [&](ts::Builder&, ts::Values x) {
      return ts::Values{ops::psum_scatter(x[0], {"i"}, n(), axis, false)};
    });
  }
}
TEST_P(OnDevices, AllToAll) {
  for (int split : {0, 1, 2})
    for (int concat : {0, 1, 2}) {
      ts::Shape block{2, 3, 1};
      block[static_cast<std::size_t>(split)] *= n();
      check(block, "i", [&](ts::Builder&, ts::Values x) {
        return ts::Values{ops::all_to_all(x[0], {"i"}, n(), split, concat, true)};
      });
      block = {2, 3, 4};
      block[static_cast<std::size_t>(split)] = n();
      check(block, "i", [&](ts::Builder&, ts::Values x) {
        return ts::Values{ops::all_to_all(x[0], {"i"}, n(), split, concat, false)};
      });
    }
}
TEST_P(OnDevices, Ppermute) {
  ts::IntLists ring, some;
  for (std::int64_t d = 0; d < n(); ++d) ring.push_back({d, (d + 1) % n()});
  if (n() > 1) some.push_back({0, n() - 1});
  for (const auto& perm : {ring, some})
    check({2, 2}, "i", [&](ts::Builder&, ts::Values x) {
      return ts::Values{ops::ppermute(x[0], {"i"}, n(), perm)};
    });
}
TEST_P(OnDevices, PbroadcastAndAxisIndex) {
  check({2, 2}, "", [&](ts::Builder&, ts::Values x) {
    return ts::Values{ops::pbroadcast(x[0], {"i"}, n(), n() - 1)};
  });
  check(
      {1}, "i",
      [&](ts::Builder& b, ts::Values x) {
        return ts::Values{ops::add(x[0], ops::reshape(ops::axis_index(b, {"i"}, n()), {1}))};
      },
      ts::i32);
}
TEST_P(OnDevices, Groups) {
  if (n() % 2) return;
  ts::IntLists pairs;
  for (std::int64_t d = 0; d < n() / 2; ++d) pairs.push_back({d + n() / 2, d});
  check({2, 2}, "i",
        [&](ts::Builder&, ts::Values x) { return ts::Values{ops::psum(x[0], {"i"}, n(), pairs)}; });
  check({2, 2}, "i", [&](ts::Builder&, ts::Values x) {
    return ts::Values{ops::all_gather(x[0], {"i"}, n(), 0, true, pairs)};
  });
  check({4, 2}, "i", [&](ts::Builder&, ts::Values x) {
    return ts::Values{ops::psum_scatter(x[0], {"i"}, n(), 0, true, pairs)};
  });
  check({4, 2}, "i", [&](ts::Builder&, ts::Values x) {
    return ts::Values{ops::all_to_all(x[0], {"i"}, n(), 0, 1, true, pairs)};
  });
}
// Copies of many MB are made together, in the order of memory, for all devices and for groups.
TEST_P(OnDevices, LargeCopies) {
  if (n() != 4) return;
  const ts::IntLists pairs{{2, 0}, {3, 1}};
  for (const auto& [split, concat] : {std::pair{0, 1}, {1, 0}, {1, 2}}) {
    const ts::Shape block{128, 256, 9};
    for (const ts::IntLists& groups : {ts::IntLists{}, pairs})
      check(block, "i", [&](ts::Builder&, ts::Values x) {
        return ts::Values{ops::all_to_all(x[0], {"i"}, n(), split, concat, true, groups)};
      });
  }
  check({300, 900}, "", [&](ts::Builder&, ts::Values x) {
    return ts::Values{ops::all_gather(x[0], {"i"}, n(), 1, true)};
  });
  check({600, 900}, "i", [&](ts::Builder&, ts::Values x) {
    return ts::Values{ops::all_gather(x[0], {"i"}, n(), 1, true, pairs)};
  });
}
// As in the normalisation of a data-parallel step, varying values depend on uniform ones and vice
// versa.
TEST_P(OnDevices, MixesUniformAndVaryingValues) {
  check({2, 3}, "i", [&](ts::Builder&, ts::Values x) {
    ts::Value total = ops::psum(x[0], {"i"}, n());
    ts::Value twice = ops::add(total, total);
    ts::Value again = ops::psum(ops::mul(x[0], twice), {"i"}, n());
    return ts::Values{ops::sub(ops::add(x[0], again), ops::neg(twice))};
  });
}
TEST_P(OnDevices, SumsOfUniformValuesAreTakenOverTheDevices) {
  Sharded(mesh(), {ts::Type(ts::f32, {3})}, {""}, {""}, [&](ts::Builder&, ts::Values x) {
    return ts::Values{ops::psum(x[0], {"i"}, n())};
  }).check();
}
TEST_P(OnDevices, StacksOfUniformValues) {
  Sharded(mesh(), {ts::Type(ts::f32, {3})}, {""}, {"i"}, [&](ts::Builder&, ts::Values x) {
    return ts::Values{ops::neg(x[0])};
  }).check();
}
INSTANTIATE_TEST_SUITE_P(Counts, OnDevices, testing::Values(1, 2, 3, 4, 8));

TEST(Mesh, EverySpecOnTwoAxes) {
  ts::MeshShape mesh{{"x", "y"}, {2, 3}};
  for (std::string in : {"", "x", "y", "x;y", "y;x", "x,y", "y,x", ";x,y"})
    for (std::string out : {"x", "y", "x;y", "x,y", ";y,x"}) {
      SCOPED_TRACE(in + " -> " + out);
      Sharded(mesh, {ts::Type(ts::f32, {6, 6})}, {in}, {out}, [&](ts::Builder& b, ts::Values v) {
        ts::Value i = ops::convert(ops::axis_index(b, {"y", "x"}, 6), ts::f32);
        i = ops::add(v[0], ops::broadcast_in_dim(i, v[0].shape(), {}));
        // The result is replicated along each axis that its spec leaves out.
        for (std::size_t a = 0; a < mesh.axes.size(); ++a)
          if (out.find(mesh.axes[a]) == std::string::npos)
            i = ops::pbroadcast(i, {mesh.axes[a]}, mesh.sizes[a], 1);
        return ts::Values{i};
      }).check();
    }
}
TEST(Mesh, CollectivesOverOneOfTwoAxesAndBoth) {
  ts::MeshShape mesh{{"x", "y"}, {2, 3}};
  Sharded(mesh, {ts::Type(ts::f32, {6, 6})}, {"x;y"}, {"x", ";y", "", "x;y", ""},
          [&](ts::Builder&, ts::Values v) {
            return ts::Values{ops::psum(v[0], {"y"}, 3), ops::psum(v[0], {"x"}, 2),
                              ops::psum(v[0], {"y", "x"}, 6),
                              ops::add(ops::psum(v[0], {"y"}, 3), v[0]),
                              ops::all_gather(ops::neg(v[0]), {"y", "x"}, 6, 1, true)};
          })
      .check();
}
TEST(Mesh, NanReachesEveryDevice) {
  Devices devices(2);
  Sharded s({{"i"}, {2}}, {ts::Type(ts::f32, {2})}, {"i"}, {"", ""},
            [&](ts::Builder&, ts::Values v) {
              return ts::Values{ops::pmax(v[0], {"i"}, 2), ops::pmin(v[0], {"i"}, 2)};
            });
  for (int at : {0, 1}) {
    ts::HostArray x(ts::f32, {2});
    x.data<float>()[at] = std::nanf("");
    x.data<float>()[1 - at] = 1;
    for (auto& r : run(s.whole(), {x})) EXPECT_TRUE(std::isnan(host(*r).number(0)));
  }
}
