// pmap under and over the other transformations; data-parallel training agrees with training on the
// whole batch.
#include "api/check.h"

#include <tessera/collectives.h>
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/custom.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>
#include <tessera/random.h>
#include <tessera/reductions.h>
#include <tessera/remat.h>
#include <tessera/vmap.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace ts = tessera;
using namespace api_test;

namespace {

using Floats = std::vector<float>;

class PmapTransform : public ::testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(8); }
  // Small integers: sums and products of them are exact in any order.
  const Array x = mat({1, -2, 3, 0, 2, 5, -1, 4}, {4, 2});
  const Array ct = mat({2, 1, 0, -3, 1, 1, 4, -2}, {4, 2});
};

/// f gives the same numbers under vmap and under pmap with the same name.
template <class F>
void expect_same_as_vmap(F f, const Array& x, const Array& ct, const char* what) {
  auto p = ts::pmap(f, {.axis_name = "i"});
  auto v = ts::vmap(f, {.axis_name = "i"});
  Array y = p(x), z = v(x);
  EXPECT_EQ(f32s(y), f32s(z)) << what;
  EXPECT_EQ(y.shape(), z.shape()) << what;
  // The derivative is taken outside of the map and inside.
  Array weights = ts::broadcast_to(ct(0, 0), y.shape()) + ts::arange(y.size()).reshape(y.shape());
  auto outside = [&](auto g) {
    return f32s(ts::grad([&](Array a) { return ts::sum(g(a) * weights); })(x));
  };
  EXPECT_EQ(outside(p), outside(v)) << what << ", gradient outside";
  auto inside = ts::grad([&](Array a) { return ts::sum(f(a) * 3); });
  EXPECT_EQ(f32s(ts::pmap(inside, {.axis_name = "i"})(x)),
            f32s(ts::vmap(inside, {.axis_name = "i"})(x)))
      << what << ", gradient inside";
  auto [jp, jt] = ts::jvp(p, std::tuple(x), std::tuple(ct));
  auto [vp, vt] = ts::jvp(v, std::tuple(x), std::tuple(ct));
  EXPECT_EQ(f32s(jt), f32s(vt)) << what << ", jvp";
}

}  // namespace

TEST_F(PmapTransform, IsVmapWithCollectives) {
  const Array wide = ts::concatenate({x, ct}, 1);  // (4, 4)
  expect_same_as_vmap([](Array a) { return a * ts::psum(a * a, "i"); }, x, ct, "psum");
  expect_same_as_vmap([](Array a) { return a * ts::pmean(a, "i"); }, x, ct, "pmean");
  expect_same_as_vmap([](Array a) { return ts::all_gather(a * a, "i", {.axis = 1}); }, x, ct,
                      "all_gather");
  expect_same_as_vmap([](Array a) { return ts::all_gather(a, "i", {.tiled = true}) * 2; }, x, ct,
                      "all_gather, tiled");
  expect_same_as_vmap([](Array a) { return ts::psum_scatter(a * a, "i"); }, wide, wide,
                      "psum_scatter");
  expect_same_as_vmap([](Array a) { return ts::all_to_all(a * a, "i", 0, 0); }, wide, wide,
                      "all_to_all");
  expect_same_as_vmap(
      [](Array a) {
        return a * ts::ppermute(a, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
      },
      x, ct, "ppermute");
  expect_same_as_vmap(
      [](Array a) {
        return ts::ppermute(a, "i", {{2, 0}}) * a;
      },
      x, ct, "ppermute, partial");
  expect_same_as_vmap([](Array a) { return a * ts::pbroadcast(a, "i", 2); }, x, ct, "pbroadcast");
  expect_same_as_vmap([](Array a) { return a * (1 + ts::axis_index("i")); }, x, ct, "axis_index");
}

// A gradient taken in the body is that of the device; pmean averages it.
TEST_F(PmapTransform, GradientsInsideAreTheDevicesOwn) {
  auto f = ts::pmap(
      [](Array w, Array a) {
        Array g = ts::grad([&](Array u) { return u * a; })(w);
        return std::pair(g, ts::pmean(g, "i"));
      },
      {.axis_name = "i", .in_axes = {ts::replicated, 0}, .out_axes = {0, ts::replicated}});
  auto [own, mean] = f(Array(5.0f), vec({0, 1, 2, 3}));
  EXPECT_EQ(f32s(own), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(mean.item<float>(), 1.5f);
  // psum's transpose is psum: the gradient of a sum over devices counts every device's copy.
  auto g = ts::pmap(ts::grad([](Array a) { return ts::psum(a, "i"); }), {.axis_name = "i"});
  EXPECT_EQ(f32s(g(vec({0, 1, 2, 3}))), (Floats{4, 4, 4, 4}));
}

TEST_F(PmapTransform, GradientsOutsideAreThoseOfTheWhole) {
  auto loss = [](Array w, Array rows) { return ts::sum(ts::square(rows * w)); };
  auto mapped =
      ts::pmap([&](Array w, Array r) { return ts::psum(loss(w, r), "i"); },
               {.axis_name = "i", .in_axes = {ts::replicated, 0}, .out_axes = ts::replicated});
  Array w = vec({3, -1});
  auto [gw, gx] = ts::grad<0, 1>(mapped)(w, x);
  auto [hw, hx] = ts::grad<0, 1>(loss)(w, x);
  EXPECT_EQ(f32s(gw), f32s(hw));
  EXPECT_EQ(f32s(gx), f32s(hx));
  auto stacked =
      ts::pmap([&](Array u, Array r) { return loss(u, r); }, {.in_axes = {ts::replicated, 0}});
  EXPECT_EQ(f32s(ts::grad([&](Array u) { return ts::sum(stacked(u, x)); })(w)), f32s(hw));
}

// One step on four devices is the step on the whole batch.
TEST_F(PmapTransform, DataParallelStepIsTheWholeBatchs) {
  struct Model {
    Array w, b;
  };
  auto loss = [](Model m, Array in, Array want) {
    return ts::mean(ts::square(ts::dot(in, m.w) + m.b - want));
  };
  auto step = ts::pmap(
      [&](Model m, Array in, Array want) {
        auto [value, g] = ts::value_and_grad(loss)(m, in, want);
        g = ts::pmean(g, "i");
        return std::pair(ts::tree::map([](Array p, Array d) { return p - 0.5f * d; }, m, g),
                         ts::pmean(value, "i"));
      },
      {.axis_name = "i", .in_axes = {ts::replicated, 0, 0}, .out_axes = ts::replicated});
  Model m{vec({1, -2, 4}), Array(0.5f)};
  // 4 devices, 2 rows each; means over powers of two are exact.
  std::vector<float> rows, targets;
  for (int i = 0; i < 24; ++i) rows.push_back(static_cast<float>((i * 5) % 7 - 3));
  for (int i = 0; i < 8; ++i) targets.push_back(static_cast<float>(i % 3));
  Array in = mat(rows, {8, 3}), want = mat(targets, {8});
  auto [next, value] = step(m, in.reshape(4, 2, 3), want.reshape(4, 2));
  auto [whole_value, g] = ts::value_and_grad(loss)(m, in, want);
  EXPECT_EQ(f32s(next.w), f32s(m.w - 0.5f * g.w));
  EXPECT_EQ(next.b.item<float>(), (m.b - 0.5f * g.b).item<float>());
  EXPECT_EQ(value.item<float>(), whole_value.item<float>());
}

TEST_F(PmapTransform, MapsInAndAroundMaps) {
  Array cube = ts::arange(24.0f).reshape(4, 3, 2);
  auto sums = [](Array a) { return a - ts::psum(a, "i"); };
  Array want = cube - ts::sum(cube, 0, true);
  auto p = ts::pmap(sums, {.axis_name = "i"});
  EXPECT_EQ(f32s(p(cube)), f32s(want));
  // vmap of pmap: the rows of the second axis, each sharded over the devices.
  EXPECT_EQ(f32s(ts::vmap(p, {.in_axes = 1, .out_axes = 1})(cube)), f32s(want));
  // pmap of vmap, with the names of both in one collective.
  auto both = ts::pmap(ts::vmap(
                           [](Array a) {
                             return ts::psum(a, {"i", "j"});
                           },
                           {.axis_name = "j"}),
                       {.axis_name = "i"});
  EXPECT_EQ(f32s(both(cube)[1][2]), f32s(ts::sum(cube, {0, 1})));
  // The innermost binding of a name wins.
  auto shadowed = ts::pmap(ts::vmap([](Array a) { return ts::psum(a, "i"); }, {.axis_name = "i"}),
                           {.axis_name = "i"});
  EXPECT_EQ(f32s(shadowed(cube)[2][0]), f32s(ts::sum(cube[2], 0)));
  // The name of an outer vmap is visible inside the pmap.
  auto outer = ts::vmap(ts::pmap(
                            [](Array a) {
                              return ts::psum(a, {"i", "j"});
                            },
                            {.axis_name = "i"}),
                        {.axis_name = "j"});
  EXPECT_EQ(f32s(outer(ts::swapaxes(cube, 0, 1))[0][0]), f32s(ts::sum(cube, {0, 1})));
}

// A map that returns its block unchanged gives a view of its argument, of which each device has its
// own part.
TEST_F(PmapTransform, MapsThatChangeNothingBetweenGlobalOperations) {
  const Array v = vec({1, 2, 3, 4});
  auto same = ts::pmap([](Array a) { return a; });
  auto with_mean = ts::pmap([](Array a) { return a + ts::pmean(a, "i"); });
  auto turned = ts::pmap([](Array a) { return ts::swapaxes(a.reshape(1, 2), 0, 1).reshape(2); });
  EXPECT_EQ(f32s(ts::jit([&](Array a) { return same(a * 2); })(v)), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(f32s(ts::jit([&](Array a) { return same(with_mean(a) * 2); })(v)),
            (Floats{7, 9, 11, 13}));
  EXPECT_EQ(f32s(ts::jit([&](Array a) { return same(with_mean(a) * 2) + same(a + 1); })(v)),
            (Floats{9, 12, 15, 18}));
  EXPECT_EQ(f32s(ts::jit([&](Array a) { return turned(a * 2); })(x)), f32s(x * 2));
  // Columns, which are not contiguous blocks, and two results, one of which is a view.
  auto columns =
      ts::pmap([](Array a) { return std::pair(a, a - ts::psum(a, "i")); }, {.in_axes = 1});
  auto [own, rest] = ts::jit([&](Array a) { return columns(a * 2); })(x);
  EXPECT_EQ(f32s(own), f32s(ts::transpose(x * 2)));
  EXPECT_EQ(f32s(rest), f32s(ts::transpose(x * 2 - ts::sum(x * 2, 1, true))));
}

// The transpose of a map with a sum changes nothing: values that meet its result outside of the map
// meet every device's own part.
TEST_F(PmapTransform, GradientsOfWhatDiffersByDevice) {
  const Array v = vec({1, 2, 3, 4}), w = vec({2, -1, 0.5, 3}), key = ts::random::key(7);
  auto expect = [&](auto f, const Array& moved) {
    auto loss = [&](Array a) { return ts::sum(ts::square(f(a)) * w); };
    const Array want = 2 * moved * w;
    EXPECT_EQ(f32s(ts::grad(loss)(v)), f32s(want));
    EXPECT_EQ(f32s(ts::jit(ts::grad(loss))(v)), f32s(want));
    EXPECT_EQ(f32s(ts::grad(ts::remat(loss))(v)), f32s(want));
    EXPECT_EQ(f32s(ts::jvp(ts::grad(loss), std::tuple(v), std::tuple(v)).second), f32s(2 * v * w));
    EXPECT_EQ(f32s(ts::vmap(ts::grad(loss))(ts::stack({v, v}))[1]), f32s(want));
  };
  expect(ts::pmap([](Array a) { return a + ts::axis_index("i"); }), v + ts::arange(4));
  std::vector<float> draws;
  for (int d = 0; d < 4; ++d)
    draws.push_back(
        ts::random::randint(ts::random::fold_in(key, d), {}, -9, 9).astype(ts::f32).item<float>());
  expect(ts::pmap([&](Array a) {
           const Array own = ts::random::fold_in(key, ts::axis_index("i"));
           return a + ts::random::randint(own, {}, -9, 9).astype(ts::f32);
         }),
         v + vec(draws));
  // Two axes: a vmap with a name around the map, and one inside.
  auto both = [](Array a) { return a + ts::axis_index({"i", "k"}); };
  const Array m = ts::arange(8.0f).reshape(2, 4), weights = m - 3;
  auto around = ts::vmap(ts::pmap(both, {.axis_name = "i"}), {.axis_name = "k"});
  auto inside = ts::pmap(ts::vmap(both, {.axis_name = "k"}), {.axis_name = "i"});
  const Array index = ts::arange(4) * 2 + ts::arange(2).reshape(2, 1);
  EXPECT_EQ(f32s(ts::grad([&](Array a) { return ts::sum(ts::square(around(a)) * weights); })(m)),
            f32s(2 * (m + index) * weights));
  const Array mt = ts::transpose(m), wt = ts::transpose(weights);
  EXPECT_EQ(f32s(ts::grad([&](Array a) { return ts::sum(ts::square(inside(a)) * wt); })(mt)),
            f32s(2 * (mt + ts::transpose(index)) * wt));
}

// The axis of a vmap around a map does not belong to the map: values that vary along it may leave
// the map as one copy for all devices.
TEST_F(PmapTransform, NamesOfMapsAroundAreSeenInside) {
  const Array m = ts::arange(8.0f).reshape(2, 4), one = vec({1, 2, 3, 4});
  auto over = [](auto f) { return ts::vmap(f, {.axis_name = "k"}); };
  EXPECT_EQ(f32s(over(ts::pmap([](Array a) { return a + ts::axis_index("k"); }))(m)),
            (Floats{0, 1, 2, 3, 5, 6, 7, 8}));
  auto shared = ts::pmap(
      [](Array a, Array b) { return std::pair(ts::psum(a, "i") + ts::axis_index("k"), b); },
      {.in_axes = {0, ts::replicated}, .out_axes = ts::replicated});
  auto [sums, same] = over(shared)(m, vec({5, 6}));
  EXPECT_EQ(f32s(sums), (Floats{6, 23}));
  EXPECT_EQ(f32s(same), (Floats{5, 6}));
  // No argument of the map is stacked.
  auto unstacked = over(
      [&](Array b) { return b * ts::pmap([](Array a) { return a + ts::axis_index("k"); })(one); });
  EXPECT_EQ(f32s(unstacked(vec({1, 10}))), (Floats{1, 2, 3, 4, 20, 30, 40, 50}));
  const Array cube = ts::arange(16.0f).reshape(2, 4, 2);
  EXPECT_EQ(f32s(over(ts::pmap([](Array a) { return ts::all_to_all(a, "k", 0, 0); }))(cube)),
            f32s(ts::swapaxes(cube, 0, 2)));
  auto exchanged =
      ts::pmap([](Array a) { return ts::all_to_all(a, "k", 0, 0); },
               {.in_axes = ts::replicated, .out_axes = ts::replicated, .axis_size = 4});
  EXPECT_EQ(f32s(over(exchanged)(ts::array({{1.0, 2.0}, {3.0, 4.0}}))), (Floats{1, 3, 2, 4}));
  // All devices of a vmap's member take the branch that its number selects, which has a sum over
  // the devices.
  auto branch = ts::pmap([](Array a) {
    return ts::cond(
        ts::axis_index("k") > 0, [&] { return ts::psum(a, "i"); }, [&] { return a; });
  });
  EXPECT_EQ(f32s(over(branch)(m)), (Floats{0, 1, 2, 3, 22, 22, 22, 22}));
  auto both = ts::pmap([](Array a) {
    return ts::cond(
        ts::axis_index("k") > 0,
        [&] {
          return ts::psum(a, {"i", "k"});
        },
        [&] { return a; });
  });
  EXPECT_EQ(f32s(over(both)(m)), (Floats{0, 1, 2, 3, 28, 28, 28, 28}));
}

// A custom rule could add values of a single device to the derivative of a result that is stored
// once.
TEST_F(PmapTransform, CustomDerivativesOfReplicatedResults) {
  auto mapped = [](auto scale) {
    auto f = ts::custom_jvp([](Array a) { return a; },
                            [=](Array a, Array da) { return std::pair(a, scale(da)); });
    return ts::pmap([=](Array w) { return f(w); },
                    {.in_axes = ts::replicated, .out_axes = ts::replicated, .axis_size = 4});
  };
  auto own = mapped([](Array da) { return da * ts::axis_index("i"); });
  EXPECT_EQ(own(Array(2.0f)).item<float>(), 2);
  const std::string text = message<ts::ShardingError>(
      [&] { ts::jvp(own, std::tuple(Array(2.0f)), std::tuple(Array(1.0f))); });
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "pmap: a result is declared the same on all devices, but its derivative differs along "
            "'i'");
  auto mean = mapped([](Array da) { return ts::pmean(da * ts::axis_index("i"), "i"); });
  EXPECT_EQ(ts::grad(mean)(Array(2.0f)).item<float>(), 1.5f);
  // Forward and backward rules name the axis too, wherever the derivative is taken.
  auto scaled = ts::custom_vjp([](Array a) { return a * a; },
                               [](Array a) { return std::pair(a * a, a + ts::axis_index("i")); },
                               [](Array own, Array c) { return c * own * ts::psum(1, "i"); });
  const Array v = vec({1, 2, 3, 4});
  EXPECT_EQ(f32s(ts::grad([&](Array a) { return ts::sum(ts::pmap(scaled)(a)); })(v)),
            (Floats{4, 12, 20, 28}));
  EXPECT_EQ(f32s(ts::pmap(ts::grad(scaled))(v)), (Floats{4, 12, 20, 28}));
}

TEST_F(PmapTransform, ControlFlow) {
  // Each device branches by its own flag.
  auto own = ts::pmap([](Array a, Array lead) {
    return ts::cond(
        lead > 0, [&] { return 2 * a; }, [&] { return -a; });
  });
  EXPECT_EQ(f32s(own(x, vec({1, 0, 0, 1}))), (Floats{2, -4, -3, 0, -2, -5, -2, 8}));
  // A collective in every step of a scan, and its gradient, as under vmap.
  auto walk = [](Array a) {
    auto [last, all] = ts::scan(
        [](Array c, Array k) {
          c = c + ts::psum(c * k, "i");
          return std::pair(c, ts::sum(c));
        },
        a, vec({1, 0, -1}));
    return last + ts::sum(all);
  };
  expect_same_as_vmap(walk, x, ct, "scan");
  // A predicate that all devices share may select a collective.
  auto together = ts::pmap(
      [](Array a) {
        return ts::cond(
            ts::psum(ts::sum(a), "i") > 0, [&] { return ts::psum(a, "i"); }, [&] { return a; });
      },
      {.axis_name = "i"});
  EXPECT_EQ(f32s(together(x)), (Floats{5, 7, 5, 7, 5, 7, 5, 7}));
  EXPECT_EQ(f32s(together(-x)), f32s(-x));
  // A predicate that varies may not.
  auto lonely = ts::pmap(
      [](Array a) {
        return ts::cond(
            ts::sum(a) > 0, [&] { return ts::psum(a, "i"); }, [&] { return a; });
      },
      {.axis_name = "i"});
  std::string text = message<ts::CollectiveError>([&] { lonely(x); });
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "pmap: a collective would wait for devices that never come to it");
  EXPECT_NE(text.find("psum in pmap_transform_test.cc:"), std::string::npos) << text;
  EXPECT_NE(text.find("is inside the cond"), std::string::npos) << text;
}

// Under vmap, a branch that each member chooses is a selection. Its derivative is that of the whole
// map, and cannot be taken member by member if a collective reads members that chose the other
// branch.
TEST_F(PmapTransform, DerivativesOfCollectivesInBranches) {
  auto branch = [](auto predicate) {
    return [=](Array a) {
      return ts::cond(
          predicate(a), [&] { return ts::psum(a * a, "k"); }, [&] { return a; });
    };
  };
  auto over = [](auto f) { return ts::vmap(f, {.axis_name = "k"}); };
  auto own = branch([](Array a) { return a > 0; });
  const Array v = vec({1, -2});
  EXPECT_EQ(f32s(over(own)(v)), (Floats{5, -2}));
  EXPECT_EQ(f32s(ts::grad([&](Array a) { return ts::sum(over(own)(a)); })(v)), (Floats{2, -3}));
  EXPECT_EQ(f32s(ts::jvp(over(own), std::tuple(v), std::tuple(vec({1, 1}))).second),
            (Floats{-2, 1}));
  EXPECT_THROW(over(ts::grad(own))(v), ts::CollectiveError);
  EXPECT_THROW(over(ts::grad([&](Array a) { return ts::grad(own)(a); }))(v), ts::CollectiveError);
  auto shared = branch([](Array a) { return ts::psum(a, "k") > 0; });
  EXPECT_EQ(f32s(over(ts::grad(shared))(vec({3, -1}))), (Floats{12, -4}));
  EXPECT_EQ(f32s(over(ts::grad(shared))(vec({1, -2}))), (Floats{1, 1}));
  // An inner map whose axis has the name of the outer one: each member has an axis of its own.
  auto squared = ts::pmap([](Array e) { return e * ts::psum(e, "k"); }, {.axis_name = "k"});
  auto inside = [&](Array a) {
    return ts::sum(ts::cond(
        a[0] > 0, [&] { return squared(a); }, [&] { return a; }));
  };
  EXPECT_EQ(f32s(over(ts::grad(inside))(vec({1, 2, -3, 4}).reshape({2, 2}))), (Floats{6, 6, 1, 1}));
}

TEST_F(PmapTransform, PlacesOfExtremaInEveryContext) {
  std::vector<float> values(4 * 500);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 7919 % 97);  // each row has ties
  const Array rows(values, {4, 500});
  std::vector<std::int32_t> places;
  for (auto row = values.begin(); row != values.end(); row += 500)
    places.push_back(static_cast<std::int32_t>(std::max_element(row, row + 500) - row));
  auto place = [](Array v) { return ts::argmax(v); };
  auto ints = [](const Array& a) { return a.to_vector<std::int32_t>(); };
  EXPECT_EQ(ints(ts::argmax(rows, 1)), places);
  EXPECT_EQ(ints(ts::pmap(place)(rows)), places);
  EXPECT_EQ(ints(ts::vmap(place)(rows)), places);
  EXPECT_EQ(ints(ts::map(place, rows)), places);
  auto agreed = ts::pmap([](Array v) { return ts::pmax(ts::argmax(v), "i"); }, {.axis_name = "i"});
  EXPECT_EQ(ints(agreed(rows)),
            std::vector<std::int32_t>(4, *std::max_element(places.begin(), places.end())));
}
