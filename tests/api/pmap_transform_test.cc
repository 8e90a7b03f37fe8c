// pmap under and over the other transformations, and data-parallel training against the whole
// batch.
#include "api/check.h"

#include <tessera/collectives.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/linear.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
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

/// f under vmap and pmap with the same name gives the same numbers.
template <class F>
void expect_same_as_vmap(F f, const Array& x, const Array& ct, const char* what) {
  auto p = ts::pmap(f, {.axis_name = "i"});
  auto v = ts::vmap(f, {.axis_name = "i"});
  Array y = p(x), z = v(x);
  EXPECT_EQ(f32s(y), f32s(z)) << what;
  EXPECT_EQ(y.shape(), z.shape()) << what;
  // The derivative outside, and inside of the map.
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

// A gradient taken in the body is that device's: pmean averages them.
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
  // vmap of pmap: rows of the second axis, each spread over the devices.
  EXPECT_EQ(f32s(ts::vmap(p, {.in_axes = 1, .out_axes = 1})(cube)), f32s(want));
  // pmap of vmap, names of both in one collective.
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
  // The name of a vmap outside is seen inside the pmap.
  auto outer = ts::vmap(ts::pmap(
                            [](Array a) {
                              return ts::psum(a, {"i", "j"});
                            },
                            {.axis_name = "i"}),
                        {.axis_name = "j"});
  EXPECT_EQ(f32s(outer(ts::swapaxes(cube, 0, 1))[0][0]), f32s(ts::sum(cube, {0, 1})));
}

TEST_F(PmapTransform, ControlFlow) {
  // Each device by its own flag.
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
  // A predicate that all share may choose a collective.
  auto together = ts::pmap(
      [](Array a) {
        return ts::cond(
            ts::psum(ts::sum(a), "i") > 0, [&] { return ts::psum(a, "i"); }, [&] { return a; });
      },
      {.axis_name = "i"});
  EXPECT_EQ(f32s(together(x)), (Floats{5, 7, 5, 7, 5, 7, 5, 7}));
  EXPECT_EQ(f32s(together(-x)), f32s(-x));
  // One that differs may not.
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
