// Computation follows data: programs and operations run on the devices of their arrays.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::none;
using ts::P;

namespace {

class Follow : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = ts::device_count();
    ts::set_device_count(8);
    grid = ts::Mesh({{"d", 2}, {"m", 4}});
    line = ts::Mesh({{"x", 8}});
  }
  void TearDown() override { ts::set_device_count(before_); }

  // Small integers, so that sums are exact in any order.
  static Array whole(const ts::Shape& shape, int seed = 1) {
    std::vector<float> v(static_cast<std::size_t>(shape.count()));
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<float>(
          static_cast<int>((i * 7 + static_cast<std::size_t>(seed) * 5) % 11) - 5);
    return Array(v).reshape(shape);
  }
  Array rows(const Array& x) const { return ts::device_put(x, grid, P("d")); }
  Array columns(const Array& x) const { return ts::device_put(x, grid, P(none, "m")); }
  static void expect_same(const Array& got, const Array& want) {
    EXPECT_EQ(got.shape(), want.shape());
    EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>());
  }
  static std::size_t devices_of(const Array& x) { return x.sharding().devices().size(); }

  ts::Mesh grid, line;

 private:
  int before_ = 0;
};

TEST_F(Follow, EagerOperationsStayWhereTheirArraysAre) {
  const Array x = whole({8, 12}), w = whole({12, 4}, 2);
  const Array a = rows(x), b = columns(w);
  const ts::Sharding by_rows(grid, P("d")), everywhere(grid, P());
  struct Case {
    const char* name;
    Array got, want;
    ts::Sharding lies;
  };
  const std::vector<Case> cases = {
      {"a number", a * 2 + 1, x * 2 + 1, by_rows},
      {"itself", a + a, x + x, by_rows},
      {"a row that is not committed", a * whole({12}, 3), x * whole({12}, 3), by_rows},
      {"a function", ts::abs(a), ts::abs(x), by_rows},
      {"columns summed", ts::sum(a, 1), ts::sum(x, 1), by_rows},
      {"rows summed", ts::sum(a, 0), ts::sum(x, 0), everywhere},
      {"all", ts::max(a), ts::max(x), everywhere},
      {"a product", ts::dot(a, b), ts::dot(x, w), ts::Sharding(grid, P("d", "m"))},
      {"transposed", ts::transpose(a), ts::transpose(x), ts::Sharding(grid, P(none, "d"))},
      {"a column", a(ts::all, 3), x(ts::all, 3), by_rows},
      {"an update", a.at(ts::all, 3).set(9), x.at(ts::all, 3).set(9), by_rows},
      {"chosen", ts::where(a > 0, a, 0), ts::where(x > 0, x, 0), by_rows},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    expect_same(c.got, c.want);
    EXPECT_TRUE(c.got.sharding().is_equivalent_to(c.lies, c.got.ndim())) << c.got.sharding();
  }
}

// Selections, sorts, moves and sums along sharded dimensions, by rows, by columns and by both, over
// devices in any order: the values are those of one device, and all devices of the mesh hold them.
TEST_F(Follow, EagerOperationsAcrossCuts) {
  using All = std::vector<Array>;
  const Array x = whole({8, 12}), w = whole({12, 4}, 2),
              rows = Array(std::vector<int>{3, 0, 7, -1, 3});
  const auto every = [&](const Array& a, const Array& b, const Array& i) {
    All all = {a(-2, 5),
               a(ts::range(1, 8, 3), ts::all),
               a(ts::all, ts::range(11, 2, -4)),
               a(i),
               a(ts::all, i),
               a(i, i),
               ts::where(a > 0, a, b(0, 0)),
               ts::take_along_axis(a, ts::argsort(a, 0), 0),
               a.at(i).add(2),
               a.at(ts::range(2, 6), ts::range(0, 12, 5)).set(-1),
               ts::dynamic_slice(a, {i[0], i[1]}, {5, 7}),
               ts::dynamic_update_slice(a, a(ts::until(2)), {i[0], i[1]}),
               ts::sum(a, 0),
               ts::prod(ts::sign(a), 1),
               ts::argmax(a, 0),
               ts::any(a > 4, 0),
               ts::cumsum(a, 0),
               ts::cumsum(a, 1),
               ts::sort(a, 0),
               ts::sort(a, 1),
               ts::flip(a, 0),
               ts::roll(a, 5, 1),
               ts::concatenate({a, a * 2}, 0),
               ts::stack({a, a}, 1),
               ts::pad(a, {{1, 2}, {0, 3}}),
               ts::repeat(a, 3, 0),
               a.reshape(96),
               a.reshape(3, 32),
               a.reshape(2, 4, 3, 4),
               ts::transpose(a),
               ts::dot(a, b),
               ts::einsum("ij,jk->ki", {a, b}),
               ts::einsum("ij,ij->", {a, a}),
               ts::tensordot(a, b, 1),
               ts::outer(a(ts::all, 0), b(ts::all, 1))};
    const auto best = ts::top_k(a, 3);
    all.push_back(best.values);
    all.push_back(best.indices);
    return all;
  };
  const All want = every(x, w, rows);
  const ts::Mesh turned({{"x", 2}, {"y", 2}}, {{6}, {1}, {4}, {3}}),
      alone({{"x", 1}, {"y", 1}}, {{5}});
  for (const ts::Mesh& mesh : {turned, alone})
    for (const ts::PartitionSpec& spec : {P("x"), P(none, "y"), P("y", "x"), P({"x", "y"})}) {
      const All got = every(ts::device_put(x, mesh, spec), ts::device_put(w, mesh, P("y")), rows);
      for (std::size_t k = 0; k < want.size(); ++k) {
        SCOPED_TRACE("operation " + std::to_string(k) + " by " + to_string(spec) + " over " +
                     to_string(mesh));
        EXPECT_EQ(got[k].dtype(), want[k].dtype());
        expect_same(got[k].astype(ts::f32), want[k].astype(ts::f32));
        std::vector<ts::Device> on = got[k].sharding().devices(), all = mesh.devices();
        EXPECT_EQ(on, all) << got[k].sharding();
      }
    }
}

// A row that a device holds is a view there. It is not committed, so rows of several devices, and
// of arrays with other shardings, compute together.
TEST_F(Follow, RowsAreWhereTheyLie) {
  const Array x = whole({8, 12}), a = rows(x), b = columns(x);
  a.block_until_ready();
  const auto before = ts::physical_memory_stats().live;
  const Array first = ts::block_until_ready(a[0]), last = ts::block_until_ready(a[7]);
  EXPECT_EQ(ts::physical_memory_stats().live, before);
  EXPECT_EQ(first.sharding(), ts::Sharding(grid.devices()[0]));
  EXPECT_EQ(last.sharding(), ts::Sharding(grid.devices()[4]));
  expect_same(first + last, x[0] + x[7]);
  expect_same(last * a, x[7] * x);
  EXPECT_EQ((last * a).sharding(), ts::Sharding(grid, P("d")));
  expect_same(ts::stack({first, b[3], last}), ts::stack({x[0], x[3], x[7]}));
  Array sum = ts::zeros({12});
  for (const Array& row : a) sum = sum + row;
  expect_same(sum, ts::sum(x, 0));
}

// Each order of the devices is another placement, and an entry holds 64 programs at most.
TEST_F(Follow, ProgramsForManyPlacesGiveWay) {
  const auto f = ts::jit([](Array x) { return ts::cumsum(x) * 2; });
  const Array x = whole({6}), want = f(x);
  std::vector<ts::Device> order = ts::devices();
  order.resize(6);
  std::vector<int> at = {0, 1, 2, 3, 4, 5};
  int places = 1;  // one device
  do {
    std::vector<ts::Device> devices;
    for (int i : at) devices.push_back(order[static_cast<std::size_t>(i)]);
    const Array there = ts::device_put(x, ts::Mesh({{"x", 6}}, devices), P("x"));
    expect_same(f(there), want);
    EXPECT_EQ(f.trace_count(), static_cast<std::size_t>(1 + places / 64));
    ++places;
  } while (places < 200 && std::next_permutation(at.begin(), at.end()));
  EXPECT_EQ(places, 200);
}

// Axes of one device shard nothing, so one program serves all specs that differ only in them. An
// entry that is full after 64 programs stays.
TEST_F(Follow, SpecsThatSayTheSameAreOnePlace) {
  const auto f = ts::jit([](Array x) { return ts::cumsum(x) * 2; });
  const Array x = whole({8}), want = f(x);
  const ts::Mesh mesh(
      {{"x", 8}, {"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}, {"g", 1}});
  for (unsigned bits = 0; bits < 128; ++bits) {
    std::vector<std::string> axes;
    for (unsigned a = 0; a < 7; ++a)
      if (bits >> a & 1) axes.push_back(std::string(1, static_cast<char>('a' + a)));
    axes.push_back("x");
    const Array there = ts::device_put(x, mesh, P(axes));
    EXPECT_EQ(there.sharding(), ts::Sharding(mesh, P(axes))) << "as it was asked for";
    expect_same(f(there), want);
  }
  EXPECT_EQ(f.trace_count(), 1u);
}

TEST_F(Follow, OneTraceForAllPlacesAndAProgramForEach) {
  const auto f = ts::jit([](Array x, Array w) { return ts::sum(ts::dot(x, w), 1); });
  const Array x = whole({8, 16}), w = whole({16, 4}, 2), want = f(x, w);
  EXPECT_EQ(devices_of(want), 1u);
  const Array by_rows = f(rows(x), w);
  expect_same(by_rows, want);
  EXPECT_EQ(by_rows.sharding(), ts::Sharding(grid, P("d")));
  EXPECT_TRUE(f.lower(rows(x), w).collectives().empty());
  // The contraction is sharded, so devices hold partial sums.
  const Array a = ts::device_put(x, line, P(none, "x")), b = ts::device_put(w, line, P("x"));
  const Array contracted = f(a, b);
  expect_same(contracted, want);
  EXPECT_EQ(contracted.sharding(), ts::Sharding(line, P()));
  const auto uses = f.lower(a, b).collectives();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(to_string(uses[0]), "psum over 'x': 32 bytes");
  EXPECT_TRUE(f.lower(x, w).collectives().empty());
  EXPECT_EQ(f.trace_count(), 1u);
}

TEST_F(Follow, WhatIsHandedThroughStays) {
  const Array x = whole({8, 4});
  auto [a, b] = ts::jit([](Array v, Array w) { return std::pair(v, w); })(rows(x), x);
  EXPECT_EQ(a.sharding(), ts::Sharding(grid, P("d")));
  EXPECT_EQ(devices_of(b), 8u);
  expect_same(a, x);
  expect_same(b, x);
}

TEST_F(Follow, MeshesOfTheSameDevicesMeet) {
  const Array x = whole({16, 4});
  const Array a = ts::device_put(x, line, P("x")), b = ts::device_put(x, grid, P({"d", "m"}));
  const Array y = a + b;
  expect_same(y, x + x);
  EXPECT_EQ(y.sharding(), ts::Sharding(line, P("x")));
  EXPECT_EQ((b + a).sharding(), ts::Sharding(grid, P({"d", "m"})));
  // An array whose sharding the axes of the other mesh cannot express is moved.
  const ts::Mesh turned({{"m", 4}, {"d", 2}}, [&] {
    std::vector<ts::Device> order;
    for (int m = 0; m < 4; ++m)
      for (int d = 0; d < 2; ++d)
        order.push_back(ts::devices()[static_cast<std::size_t>(d * 4 + m)]);
    return order;
  }());
  expect_same(a * ts::device_put(x, turned, P("m")), x * x);
}

TEST_F(Follow, ResultsOfMapsStayOnTheirDevices) {
  const Array x = whole({8, 3});
  const Array y = ts::pmap([](Array row) { return row * 2; })(x);
  const Array z = y - 1;
  expect_same(z, x * 2 - 1);
  EXPECT_EQ(devices_of(z), 8u);
  EXPECT_TRUE(z.sharding().is_equivalent_to(y.sharding(), 2));
  expect_same(ts::mean(y, 0) * 8, ts::sum(x * 2, 0));
}

TEST_F(Follow, DerivativesLieAsTheirArguments) {
  const auto loss = [](Array w, Array x) { return ts::sum(ts::square(ts::dot(x, w))); };
  const Array x = whole({8, 12}), w = whole({12, 4}, 2);
  const Array want = ts::grad(loss)(w, x);
  const Array by_data = ts::grad(loss)(ts::device_put(w, grid, P()), rows(x));
  expect_same(by_data, want);
  EXPECT_TRUE(by_data.sharding().is_fully_replicated());
  EXPECT_EQ(devices_of(by_data), 8u);
  const Array by_columns = ts::jit(ts::grad(loss))(columns(w), rows(x));
  expect_same(by_columns, want);
  EXPECT_EQ(by_columns.sharding(), ts::Sharding(grid, P(none, "m")));
}

// The specs of the inner function decide where its gradient runs.
TEST_F(Follow, GradientsOfFunctionsWithShardings) {
  const auto loss = ts::jit([](Array w, Array x) { return ts::sum(ts::square(ts::dot(x, w))); },
                            {.mesh = grid, .in_shardings = {P(none, "m"), P("d")}});
  const Array x = whole({8, 12}), w = whole({12, 4}, 2);
  const Array g = ts::grad(loss)(w, x);
  expect_same(g,
              ts::grad([](Array v, Array y) { return ts::sum(ts::square(ts::dot(y, v))); })(w, x));
  EXPECT_EQ(g.sharding(), ts::Sharding(grid, P(none, "m")));
  EXPECT_EQ(ts::jit(ts::grad(loss))(w, x).sharding(), ts::Sharding(grid, P(none, "m")));
}

TEST_F(Follow, StatesStayCutThroughTraining) {
  struct State {
    Array w, m;
  };
  const auto step = ts::jit(
      [](State s, Array x) {
        const Array g = ts::grad([&](Array w) { return ts::sum(ts::square(ts::dot(x, w))); })(s.w);
        const Array m = s.m + g;
        return State{s.w - m, m};
      },
      {.donate = {0}});
  const Array x = whole({8, 16}), w = whole({16, 64}, 2) * 0.25f;
  State one{w + 0, ts::zeros({16, 64})};
  State cut{ts::device_put(w, line, P(none, "x")),
            ts::device_put(ts::zeros({16, 64}), line, P(none, "x"))};
  for (int i = 0; i < 2; ++i) {
    one = step(std::move(one), x);
    cut = step(std::move(cut), ts::device_put(x, line, P()));
    EXPECT_EQ(cut.w.sharding(), ts::Sharding(line, P(none, "x")));
    EXPECT_EQ(cut.m.sharding(), ts::Sharding(line, P(none, "x")));
  }
  expect_same(cut.w, one.w);
  EXPECT_EQ(step.trace_count(), 1u);
}

TEST_F(Follow, ArgumentsWithoutSpecsOfAJitWithShardings) {
  const auto f = ts::jit([](Array x, Array y) { return x + y; },
                         {.mesh = grid, .in_shardings = {P("d"), ts::unconstrained}});
  const Array x = whole({8, 4}), y = whole({8, 4}, 2);
  const Array z = f(x, ts::device_put(y, grid, P("d", "m")));
  expect_same(z, x + y);
  // Nothing is gathered: the unconstrained argument keeps its sharding.
  EXPECT_EQ(z.sharding(), ts::Sharding(grid, P("d", "m")));
}

TEST_F(Follow, MapsInsidePartitionedPrograms) {
  const auto normal = ts::shard_map(
      [](Array x) { return x - ts::psum(ts::sum(x, {.axis = 1, .keepdims = true}), "m"); },
      {.mesh = grid, .in_specs = P("d", "m"), .out_specs = P("d", "m")});
  const auto f = [&](Array x, Array w) { return ts::sum(normal(ts::dot(x, w)) * 2); };
  const Array x = whole({8, 12}), w = whole({12, 4}, 2), product = ts::dot(x, w);
  const Array want = ts::sum((product - ts::sum(product, {.axis = 1, .keepdims = true})) * 2);
  const auto with_specs = ts::jit(f, {.mesh = grid, .in_shardings = {P("d"), P(none, "m")}});
  expect_same(with_specs(x, w), want);
  // The whole function runs on the devices, and the two sums are its only collectives.
  const auto uses = with_specs.lower(x, w).collectives();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].op, "psum");
  EXPECT_EQ(uses[0].bytes, 4 * 4);
  EXPECT_EQ(uses[1].bytes, 4);
  const auto plain = ts::jit(f);
  expect_same(plain(rows(x), columns(w)), want);
  EXPECT_EQ(plain.lower(rows(x), columns(w)).collectives(), uses);
  const Array g = ts::jit(ts::grad([&](Array v) { return f(x, v); }),
                          {.mesh = grid, .in_shardings = P(none, "m")})(w);
  expect_same(g, ts::grad([&](Array v) { return f(x, v); })(w));
  EXPECT_EQ(g.sharding(), ts::Sharding(grid, P(none, "m")));
}

// Placements leave out axes of one device, types do not.
TEST_F(Follow, MapsOverAxesOfOneDevice) {
  const ts::Mesh mesh({{"d", 1}, {"m", 4}});
  const auto twice =
      ts::shard_map([](Array x) { return std::pair(x * 2, x > 0); },
                    {.mesh = mesh, .in_specs = P("d", "m"), .out_specs = P("d", "m")});
  const auto f = [&](Array x) {
    const auto [y, positive] = twice(x + 1);
    return ts::sum(ts::where(positive, y, 0));
  };
  const Array x = whole({6, 8});
  expect_same(ts::jit(f)(ts::device_put(x, mesh, P(none, "m"))), f(x));
  expect_same(ts::jit(ts::grad(f), {.mesh = mesh})(x), ts::grad(f)(x));
}

TEST_F(Follow, WhatNobodyAsksForRunsOnOneDevice) {
  const Array x = whole({4});
  EXPECT_EQ(devices_of(x + x), 1u);
  const Array there = ts::device_put(x, ts::devices()[3]);
  EXPECT_EQ((there * 2).sharding(), ts::Sharding(ts::devices()[3]));
  // An array that was read back is not committed and follows again.
  EXPECT_EQ(devices_of(ts::device_get(rows(whole({4, 2}))) + 1), 1u);
}

}  // namespace
