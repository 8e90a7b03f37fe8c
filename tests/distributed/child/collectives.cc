// The results of collectives, for all ways in which devices reach them.
#include "child.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace child {
namespace {

const std::map<std::string, Body>& bodies() {
  static const std::map<std::string, Body> all{
      {"psum", [](Array v) { return v + ts::psum(v * v, "i"); }},
      {"pmax", [](Array v) { return ts::pmax(v, "i") - ts::pmin(v, "i"); }},
      {"pmean", [](Array v) { return v - ts::pmean(v, "i"); }},
      {"psum_scatter", [](Array v) { return v + ts::psum_scatter(v, "i") * 3; }},
      {"all_gather", [](Array v) { return ts::sum(ts::all_gather(v, "i") * v, 1); }},
      {"all_to_all", [](Array v) { return ts::all_to_all(v, "i", 0, 0); }},
      {"ppermute",
       [](Array v) {
         std::vector<std::pair<std::int64_t, std::int64_t>> ring;
         for (std::int64_t d = 0; d + 1 < kDevices; ++d) ring.emplace_back(d, d + 1);
         return v + ts::ppermute(v, "i", ring);
       }},
      {"axis_index", [](Array v) { return v * (1.0f + ts::axis_index("i").astype(ts::f32)); }},
      {"loop",
       [](Array v) {
         return ts::fori_loop(
             0, 5, [](Array, Array c) { return c * 0.5f + ts::pmean(ts::sin(c), "i"); }, v);
       }},
      {"ring",  // the result of communication is the body's result
       [](Array v) {
         std::vector<std::pair<std::int64_t, std::int64_t>> ring;
         for (std::int64_t d = 0; d < kDevices; ++d) ring.emplace_back(d, (d + 1) % kDevices);
         return ts::fori_loop(
             0, 3, [&](Array, Array c) { return ts::ppermute(c, "i", ring); }, v);
       }},
      {"branch",
       [](Array v) {
         return ts::cond(
             ts::psum(ts::sum(v), "i") < 100, [](Array u) { return ts::psum(ts::sin(u), "i"); },
             [](Array u) { return u; }, v);
       }},
      {"draws",
       [](Array v) {
         return v + ts::random::normal(ts::random::fold_in(ts::random::key(3), ts::axis_index("i")),
                                       v.shape());
       }},
  };
  return all;
}

void maps() {
  const Array x = draw(0, {kDevices, 8});
  for (const auto& [name, body] : bodies()) {
    const auto f = ts::pmap(body, {.axis_name = "i"});
    show(name.c_str(), f(x));
    show(name + " in jit", ts::jit([&](Array x) { return f(ts::sin(x)) * 2; })(x));
    show(name + ", summed", ts::jit([&](Array x) { return ts::sum(f(x), 0); })(x));
    if (name == "pmax") continue;  // it has no derivative
    show(name + ", gradient", ts::grad([&](Array x) { return ts::sum(ts::cos(f(x))); })(x));
  }
}

// Operands larger than one exchange, in pieces and shards of different sizes.
void large() {
  for (const ts::DType dtype : {ts::f32, ts::f16, ts::i32}) {
    const Array x = (draw(7, {kDevices, 211, 997}) * 1000).astype(dtype);
    const std::string of = " of " + std::string(name_of(dtype));
    for (const char* name : {"psum", "pmax", "all_gather", "all_to_all", "ppermute"})
      if (dtype != ts::i32 || name != std::string("all_to_all"))
        show_large(name + of, ts::pmap(
                                  [&](Array v) {
                                    if (name == std::string("psum")) return ts::psum(v, "i");
                                    if (name == std::string("pmax")) return ts::pmax(v, "i");
                                    if (name == std::string("all_gather"))
                                      return ts::sum(ts::all_gather(v, "i") * v, 0);
                                    if (name == std::string("ppermute"))
                                      return ts::ppermute(v, "i", {{0, 7}, {3, 1}, {6, 2}});
                                    const Array u = v(ts::range(0, 208));
                                    return ts::all_to_all(u, "i", 0, 0, {.tiled = true});
                                  },
                                  {.axis_name = "i"})(x));
  }
  const ts::Mesh mesh({{"data", 2}, {"model", 4}}), turned({{"model", 4}, {"data", 2}});
  const Array x = draw(8, {2, 4, 150001});
  for (const ts::Mesh& m : {mesh, turned}) {
    const std::string of = ", " + to_string(m);
    const Array a = ts::device_put(x, m, P("data", "model"));
    show_large("sums over one axis" + of,
               ts::jit([](Array v) { return ts::sum(v, 0); }, {.mesh = m})(a));
    show_large("sums over the other" + of,
               ts::jit([](Array v) { return ts::sum(v, 1); }, {.mesh = m})(a));
    show_large(
        "in a loop" + of,
        ts::shard_map(
            [](Array v) {
              return ts::fori_loop(
                  0, 3,
                  [](Array, Array c) {
                    return c * 0.5f +
                           ts::pmean(ts::sin(c), std::vector<std::string>{"data", "model"});
                  },
                  v);
            },
            {.mesh = m, .in_specs = {P("data", "model")}, .out_specs = P("data", "model")})(a));
  }
}

// For a combination, a process publishes the combined value of its own operands: 12, 6, 3 and 1 of
// 24, and fewer for groups. If groups differ between members, or their members alternate, it
// publishes each operand.
void sums() {
  const std::map<std::string, ts::AxisGroups> grouped{
      {"all", {}},
      {"thirds",
       {{0, 1, 2, 3, 4, 5, 6, 7},
        {8, 9, 10, 11, 12, 13, 14, 15},
        {16, 17, 18, 19, 20, 21, 22, 23}}},
      {"turned",
       {{0, 1, 12, 13},
        {3, 2, 22, 23},
        {5, 4, 15, 14},
        {7, 6, 17, 16},
        {9, 8, 19, 18},
        {11, 10, 21, 20}}},
      {"by turns",
       {{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}, {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23}}},
      {"not alike",
       {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, {18, 19, 20, 21, 22, 23}}},
  };
  // The part of a double that float32 does not hold is shown beside it.
  const auto show_all = [](const std::string& name, const Array& x) {
    const Array high = x.astype(ts::f32);
    show_large(name, high);
    if (x.dtype() == ts::f64)
      show_large(name + ", the rest", (x - high.astype(ts::f64)).astype(ts::f32));
  };
  for (const ts::DType dtype : {ts::f32, ts::f64, ts::f16, ts::bf16, ts::i32, ts::u8}) {
    const Array drawn = draw(10, {kManyDevices, 24, 7}) * 5;
    const Array x = (dtype == ts::u8 ? ts::abs(drawn) : drawn).astype(dtype);
    for (const auto& [kind, groups] : grouped) {
      const std::string of = " of " + kind + ", " + std::string(name_of(dtype));
      const auto along = [&](auto f) {
        return ts::pmap([&](Array v) { return f(v); }, {.axis_name = "i"})(x);
      };
      show_all("psum" + of, along([&](Array v) { return ts::psum(v, "i", groups); }));
      show_all("pmax" + of, along([&](Array v) { return ts::pmax(v, "i", groups); }));
      show_all("pmin" + of, along([&](Array v) { return ts::pmin(v, "i", groups); }));
      if (kind == "not alike") continue;
      show_all("psum_scatter" + of, along([&](Array v) {
                 return ts::psum_scatter(v, "i", {.tiled = true, .groups = groups});
               }));
    }
  }
  const ts::Mesh mesh({{"data", 4}, {"model", 6}}), turned({{"model", 6}, {"data", 4}});
  const Array x = draw(11, {4, 6, 40}).astype(ts::bf16);
  for (const ts::Mesh& m : {mesh, turned})
    for (const int axis : {0, 1}) {
      const Array a = ts::device_put(x, m, P("data", "model"));
      show_all("sums over axis " + std::to_string(axis) + ", " + to_string(m),
               ts::jit([&](Array v) { return ts::sum(v, axis); }, {.mesh = m})(a));
    }
}

// Collectives before any exchange with elements; NaN, and numbers at the limits.
void odd_ones() {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> odd{0.f,    -0.f, inf,  -inf, std::nanf(""), 3e38f, -3e38f,
                               1e-45f, 1.f,  -1.f, 7.f};
  for (const std::int64_t n : {0, 1, 37}) {
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < kDevices * n; ++i)
      numbers.push_back(odd[static_cast<std::size_t>(i * 7 + i / 5) % odd.size()]);
    const Array x = Array(numbers).reshape(kDevices, n);
    for (const ts::DType d : {ts::f32, ts::bf16, ts::f64}) {
      const auto along = [&](Body f) { return ts::pmap(f, {.axis_name = "i"})(x.astype(d)); };
      const std::string of = " of " + std::to_string(n) + " " + std::string(name_of(d));
      // Which NaN it is does not matter.
      const auto told = [&](const char* name, const Array& y) {
        show(name + of, ts::where(ts::isnan(y), ts::zeros_like(y) + 99, y));
      };
      told("psum", along([](Array v) { return ts::psum(v, "i"); }));
      told("signs", along([](Array v) { return 1 / ts::psum(v, "i"); }));
      told("pmax", along([](Array v) { return ts::pmax(v, "i"); }));
      told("pmin", along([](Array v) { return ts::pmin(v, "i"); }));
      told("all_gather", along([](Array v) { return ts::all_gather(v, "i"); }));
    }
  }
  for (const ts::DType d : {ts::i8, ts::u8, ts::i16, ts::i32, ts::u32, ts::i64, ts::u64}) {
    const Array x = ts::stack({ts::full({kDevices}, 127, d), ts::full({kDevices}, 3, d)}, 1);
    show("integers " + std::string(name_of(d)),
         ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"})(x));
  }
}

// Stages take different branches, in which their devices communicate.
void ways() {
  for (const ts::Mesh& mesh :
       {ts::Mesh({{"stage", 2}, {"model", 4}}), ts::Mesh({{"stage", 4}, {"model", 2}}),
        ts::Mesh({{"model", 4}, {"stage", 2}}),
        ts::Mesh({{"stage", 2}, {"model", 2}}, devices_of({2, 3, 4, 5}))}) {
    const std::string of = ", " + to_string(mesh);
    const auto over_all = [&](Body f) {
      return ts::shard_map(
          f, {.mesh = mesh, .in_specs = {P("stage", "model")}, .out_specs = P("stage", "model")});
    };
    const auto branches = over_all([](Array v) {
      return ts::cond(
          ts::axis_index("stage") == 0, [](Array u) { return ts::psum(u, "model") + u; },
          [](Array u) { return ts::pmax(u * 2, "model") - u; }, v);
    });
    const Array x = draw(22, {4, 8});
    show("ways" + of, branches(x));
    show("ways in jit" + of, ts::jit([&](Array x) { return branches(ts::sin(x)) * 2; })(x));
    // The number of iterations depends on the stage's number.
    const auto loops = over_all([](Array v) {
      return ts::while_loop(
                 [](std::pair<Array, Array> c) {
                   return c.first < 2 + 3 * ts::axis_index("stage");
                 },
                 [](std::pair<Array, Array> c) {
                   return std::pair(c.first + 1,
                                    c.second * 0.5f + ts::pmean(ts::sin(c.second), "model"));
                 },
                 std::pair(Array(0), v))
          .second;
    });
    show("turns" + of, loops(x));
    const auto nested = over_all([](Array v) {
      return ts::cond(
          ts::axis_index("stage") % 2 == 1,
          [](Array u) {
            return ts::fori_loop(
                0, 3, [](Array, Array c) { return c - ts::pmean(c, "model") * 0.25f; }, u);
          },
          [](Array u) {
            return ts::cond(
                ts::psum(ts::sum(u), "model") > 0,
                [](Array w) { return ts::all_gather(w, "model")[0] + w; },
                [](Array w) { return ts::psum(w * w, "model"); }, u);
          },
          v);
    });
    show("nested" + of, nested(x));
    show("gradient" + of, ts::grad([&](Array x) { return ts::sum(ts::sin(nested(x))); })(x));
    show_large("large" + of, branches(draw(24, {4, 100003 * 8})));
  }
}

// One mesh has devices of all four processes, the other one of two.
void two_meshes() {
  const ts::Mesh all({{"a", 8}}), half({{"a", 4}}, devices_of({2, 3, 4, 5}));
  const auto on = [](const ts::Mesh& mesh) {
    return ts::shard_map([](Array v) { return v + ts::psum(v, "a"); },
                         {.mesh = mesh, .in_specs = {P("a")}, .out_specs = P("a")});
  };
  (void)ts::jit([&](Array x) { return on(half)(on(all)(x) * 2); })(draw(28, {8, 4}));
}

// Processes have other coordinates along "model" in one stage than in the other.
void mixed_ways() {
  const ts::Mesh mesh({{"stage", 2}, {"model", 4}}, devices_of({3, 6, 0, 5, 7, 1, 4, 2}));
  const auto f = ts::shard_map(
      [](Array v) {
        return ts::cond(
            ts::axis_index("stage") == 0, [](Array u) { return ts::psum(u, "model") + u; },
            [](Array u) { return ts::pmax(u * 2, "model") - u; }, v);
      },
      {.mesh = mesh, .in_specs = {P("stage", "model")}, .out_specs = P("stage", "model")});
  (void)f(draw(22, {4, 8}));
}

}  // namespace

Modes collectives_modes() {
  return {{"maps", maps},
          {"large", large},
          {"sums", sums},
          {"odd_ones", odd_ones},
          {"ways", ways},
          {"two_meshes", two_meshes},
          {"mixed_ways", mixed_ways}};
}

}  // namespace child
