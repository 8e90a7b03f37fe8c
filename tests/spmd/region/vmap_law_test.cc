// For every collective, vmap(axis_name) of a program gives the results of the program on the
// devices of that axis, derivatives included. Over an axis that the collective does not name, vmap
// is a loop.
#include "specs.h"
#include "spmd/spmd_check.h"
#include "transform/autodiff.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace tessera;
using namespace tessera::testing;

namespace {

struct Case {
  std::string name;
  Shape block;
  std::function<Value(Value, const Strings&, std::int64_t)> f;
  bool linear = true;
};

// Blocks for an axis of n devices.
std::vector<Case> cases(std::int64_t n) {
  std::vector<Case> c;
  using S = const Strings&;
  c.push_back({"psum", {3, 2}, [](Value x, S a, std::int64_t m) { return ops::psum(x, a, m); }});
  c.push_back(
      {"pmax", {3, 2}, [](Value x, S a, std::int64_t m) { return ops::pmax(x, a, m); }, false});
  c.push_back(
      {"pmin", {3, 2}, [](Value x, S a, std::int64_t m) { return ops::pmin(x, a, m); }, false});
  for (int axis : {0, 1, 2})
    c.push_back({"all_gather " + std::to_string(axis), {3, 2}, [=](Value x, S a, std::int64_t m) {
                   return ops::all_gather(x, a, m, axis, false);
                 }});
  for (int axis : {0, 1})
    c.push_back(
        {"all_gather tiled " + std::to_string(axis), {3, 2}, [=](Value x, S a, std::int64_t m) {
           return ops::all_gather(x, a, m, axis, true);
         }});
  c.push_back({"psum_scatter 0", {n, 3}, [](Value x, S a, std::int64_t m) {
                 return ops::psum_scatter(x, a, m, 0, false);
               }});
  c.push_back({"psum_scatter -1", {3, n}, [](Value x, S a, std::int64_t m) {
                 return ops::psum_scatter(x, a, m, -1, false);
               }});
  c.push_back({"psum_scatter tiled", {3, 2 * n}, [](Value x, S a, std::int64_t m) {
                 return ops::psum_scatter(x, a, m, 1, true);
               }});
  for (auto [split, concat] : std::vector<std::pair<int, int>>{{0, 0}, {0, 1}, {0, 2}, {-1, 0}})
    if (split == 0) {
      c.push_back(
          {"all_to_all", {n, 2, 3}, [=, s = split, t = concat](Value x, S a, std::int64_t m) {
             return ops::all_to_all(x, a, m, s, t, false);
           }});
      c.push_back({"all_to_all tiled",
                   {2 * n, 2, 3},
                   [=, s = split, t = concat](Value x, S a, std::int64_t m) {
                     return ops::all_to_all(x, a, m, s, t, true);
                   }});
    } else {
      c.push_back({"all_to_all from the end",
                   {2, 3, n},
                   [=, s = split, t = concat](Value x, S a, std::int64_t m) {
                     return ops::all_to_all(x, a, m, s, t, false);
                   }});
    }
  c.push_back({"pbroadcast", {2, 3}, [](Value x, S a, std::int64_t m) {
                 return ops::pbroadcast(x, a, m, m - 1);
               }});
  return c;
}

std::vector<Case> permutations(std::int64_t n) {
  IntLists rotate, partial;
  for (std::int64_t i = 0; i < n; ++i) rotate.push_back({i, (i + 1) % n});
  for (std::int64_t i = 0; i + 1 < n; ++i) partial.push_back({i, i + 1});
  using S = const Strings&;
  return {{"ppermute",
           {2, 3},
           [=](Value x, S a, std::int64_t m) { return ops::ppermute(x, a, m, rotate); }},
          {"ppermute partial", {2, 3}, [=](Value x, S a, std::int64_t m) {
             return ops::ppermute(x, a, m, partial);
           }}};
}

std::vector<Case> all_cases(std::int64_t n) {
  std::vector<Case> c = cases(n);
  for (Case& p : permutations(n)) c.push_back(p);
  return c;
}

HostArray drawn(Shape block, const std::vector<std::int64_t>& stacks, int seed) {
  for (std::size_t i = stacks.size(); i-- > 0;) block.insert(block.begin(), stacks[i]);
  return integers(Type(f32, block), seed);
}

ProgramPtr body_of(const Case& c, const Strings& axes, std::int64_t n) {
  return program_of({Type(f32, c.block)},
                    [&](Builder&, const Values& in) { return Values{c.f(in[0], axes, n)}; });
}
ProgramPtr transposed(const Program& p) { return transpose_program(p, {true}, {true}); }

}  // namespace

TEST(VmapLaw, OverTheNamedAxis) {
  for (const Case& c : all_cases(4)) {
    ProgramPtr p = body_of(c, {"i"}, 4);
    HostArray x = drawn(c.block, {4}, 1);
    std::vector<HostArray> want = on_axis(*p, 4, {x});
    expect_same(evaluate(*mapped(*p, 4, "i"), std::vector{x}), want, c.name);
    if (!c.linear) continue;
    // The transpose, taken inside the mapped function and outside of it, follows one convention.
    HostArray ct = integers(Type(f32, want[0].shape), 2);
    ProgramPtr inside = transposed(*p);
    std::vector<HostArray> back = on_axis(*inside, 4, {ct});
    expect_same(evaluate(*mapped(*inside, 4, "i"), std::vector{ct}), back,
                c.name + " transposed inside");
    expect_same(evaluate(*transposed(*mapped(*p, 4, "i")), std::vector{ct}), back,
                c.name + " transposed outside");
    EXPECT_EQ(dot(want[0], ct), dot(x, back[0])) << c.name << ": <f(x), y> = <x, f^T(y)>";
  }
}

TEST(VmapLaw, UnstackedOperands) {
  for (const Case& c : all_cases(3)) {
    ProgramPtr p = body_of(c, {"i"}, 3);
    HostArray x = integers(Type(f32, c.block), 1);
    ProgramPtr batched = batch_program(*p, {kUnbatched}, 3, "i", {true}).program;
    expect_same(evaluate(*batched, std::vector{x}), on_axis(*p, 3, {stack_of({x, x, x})}), c.name);
  }
}

TEST(VmapLaw, OverAnotherAxis) {
  for (const Case& c : all_cases(4)) {
    ProgramPtr p = body_of(c, {"i"}, 4);
    // The stacked dimension is at every position of the block.
    for (int d = 0; d <= c.block.rank(); ++d) {
      ProgramPtr batched = batch_program(*p, {d}, 5, "other", {true}).program;
      HostArray x = drawn(c.block, {4, 5}, 3);  // [device, stack, block...]
      Ints perm{0};
      for (int k = 0; k < c.block.rank(); ++k) {
        if (k == d) perm.push_back(1);
        perm.push_back(k + 2);
      }
      if (d == c.block.rank()) perm.push_back(1);
      HostArray placed = run(
          {x}, [&](Builder&, const Values& in) { return Values{ops::transpose(in[0], perm)}; })[0];
      HostArray got = on_axis(*batched, 4, {placed})[0];
      std::vector<HostArray> devices;
      std::vector<std::vector<HostArray>> loops(4);
      for (std::int64_t k = 0; k < 5; ++k) {
        std::vector<HostArray> blocks;
        for (std::int64_t i = 0; i < 4; ++i) blocks.push_back(row_of(row_of(x, i), k));
        HostArray y = on_axis(*p, 4, {stack_of(blocks)})[0];
        for (std::int64_t i = 0; i < 4; ++i)
          loops[static_cast<std::size_t>(i)].push_back(row_of(y, i));
      }
      for (auto& rows : loops) devices.push_back(stack_of(rows));
      expect_same(got, stack_of(devices), c.name + " stacked at " + std::to_string(d));
    }
  }
}

// One name of a pair belongs to vmap and the other to devices; or both belong to vmaps.
TEST(VmapLaw, PairsOfAxes) {
  MeshShape mesh{{"i", "j"}, {2, 3}};
  for (Strings axes : {Strings{"i", "j"}, Strings{"j", "i"}})
    for (const Case& c : all_cases(6)) {
      std::string what = c.name + " over (" + axes[0] + ", " + axes[1] + ")";
      ProgramPtr p = body_of(c, axes, 6);
      HostArray x = drawn(c.block, {6}, 4);
      HostArray want = on_devices(*p, mesh, {x})[0];
      HostArray split = x;
      split.shape.erase(split.shape.begin());
      split.shape.insert(split.shape.begin(), 3);
      split.shape.insert(split.shape.begin(), 2);
      HostArray got = evaluate(*mapped(*mapped(*p, 3, "j"), 2, "i"), std::vector{split})[0];
      got.shape = want.shape;
      expect_same(got, want, what + ", vmap of vmap");
      got = on_axis(*mapped(*p, 3, "j"), 2, {split})[0];  // the devices of i, j stacked on each
      got.shape = want.shape;
      expect_same(got, want, what + ", vmap on devices");
    }
}

// Members send to any others, or to none: forward, and back by the transpose. A device sends a row
// to each other device, so the row that it sends in a round depends on the device.
TEST(VmapLaw, AnyPairsOverTwoAxes) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 4),
                       devices = 1 + static_cast<std::int64_t>(random() % 4), n = rows * devices;
    std::vector<std::int64_t> to(static_cast<std::size_t>(n));
    std::iota(to.begin(), to.end(), 0);
    std::shuffle(to.begin(), to.end(), random);
    IntLists pairs;
    for (std::int64_t i = 0; i < n; ++i)
      if (round % 3 == 0 || random() % 4) pairs.push_back({i, to[static_cast<std::size_t>(i)]});
    const Strings axes = random() % 2 ? Strings{"i", "j"} : Strings{"j", "i"};
    const Case c{"ppermute", {2}, [&](Value x, const Strings& names, std::int64_t m) {
                   return ops::ppermute(x, names, m, pairs);
                 }};
    const ProgramPtr p = body_of(c, axes, n);
    for (const ProgramPtr& f : {p, transposed(*p)}) {
      const HostArray x = drawn(c.block, {n}, round);
      HostArray want = on_devices(*f, {{"i", "j"}, {devices, rows}}, {x})[0];
      HostArray split = x;
      split.shape = Shape{devices, rows, 2};
      HostArray got = on_axis(*mapped(*f, rows, "j"), devices, {split})[0];
      got.shape = want.shape;
      expect_same(got, want, "round " + std::to_string(round));
    }
  }
}

TEST(VmapLaw, AxisIndex) {
  auto f = [](const Strings& axes, std::int64_t n) {
    return program_of({Type(f32, {})}, [&](Builder& b, const Values& in) {
      return Values{ops::add(in[0], ops::convert(ops::axis_index(b, axes, n), f32))};
    });
  };
  HostArray x = floats({6}, {10, 20, 30, 40, 50, 60});
  for (Strings axes : {Strings{"i", "j"}, Strings{"j", "i"}}) {
    HostArray want = on_devices(*f(axes, 6), {{"i", "j"}, {2, 3}}, {x})[0];
    HostArray split = x;
    split.shape = {2, 3};
    HostArray got = evaluate(*mapped(*mapped(*f(axes, 6), 3, "j"), 2, "i"), std::vector{split})[0];
    EXPECT_EQ(values<float>(got), values<float>(want));
  }
  // No operand is stacked.
  ProgramPtr p = program_of(
      {}, [](Builder& b, const Values&) { return Values{ops::axis_index(b, {"i"}, 4)}; });
  EXPECT_EQ(values<std::int32_t>(evaluate(*batch_program(*p, {}, 4, "i").program, {})[0]),
            (std::vector<std::int32_t>{0, 1, 2, 3}));
}

// A nonlinear program through jvp and vjp.
TEST(VmapLaw, DerivativesOfPrograms) {
  ProgramPtr p = program_of({Type(f32, {3})}, [](Builder&, const Values& in) {
    Value x = in[0];
    Value s = ops::psum(ops::mul(x, x), {"i"}, 4);
    Value g = ops::reduce_sum(ops::all_gather(ops::mul(x, s), {"i"}, 4, 0, false), {0});
    return Values{ops::mul(g, ops::ppermute(x, {"i"}, 4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}))};
  });
  HostArray x = integers(Type(f32, {4, 3}), 1), t = integers(Type(f32, {4, 3}), 2);
  ProgramPtr jvp = jvp_program(*p, {true}).program;
  expect_same(evaluate(*mapped(*jvp, 4, "i"), std::vector{x, t}), on_axis(*jvp, 4, {x, t}), "jvp");
  ProgramPtr vjp = vjp_program(*p, {true});
  std::vector<HostArray> back = on_axis(*vjp, 4, {x, t});
  expect_same(evaluate(*mapped(*vjp, 4, "i"), std::vector{x, t}), back, "vjp inside");
  expect_same(evaluate(*vjp_program(*mapped(*p, 4, "i"), {true}), std::vector{x, t}), back,
              "vjp outside");
}

TEST(VmapLaw, Errors) {
  auto text = [](const std::function<Value(Value)>& f, const std::string& axis) {
    ProgramPtr p =
        program_of({Type(f32, {4})}, [&](Builder&, const Values& in) { return Values{f(in[0])}; });
    return error_of<CollectiveError>([&] { mapped(*p, 2, axis); });
  };
  EXPECT_EQ(text(
                [](Value x) {
                  return ops::psum(x, {"i"}, 2, {{0}, {1}});
                },
                "i"),
            "psum: axis_index_groups are given, and axis 'i' is mapped by vmap\n"
            "  rule: groups are for axes of devices\n"
            "  try: reshape the mapped dimension to (groups, members), map each by its own vmap "
            "and use the inner name");
  EXPECT_EQ(text(
                [](Value x) {
                  return ops::all_gather(x, {"x", "i", "y"}, 8, 0, false);
                },
                "i"),
            "all_gather: axis 'i', which vmap maps, stands between other axes in ('x', 'i', 'y')\n"
            "  rule: a mapped axis is the first or the last of a tuple of axes here\n"
            "  try: apply the collective to one axis after the other");
  EXPECT_EQ(text(
                [](Value x) {
                  return ops::ppermute(x, {"x", "i", "y"}, 8, {{0, 1}});
                },
                "i"),
            "ppermute: axis 'i', which vmap maps, stands between other axes in ('x', 'i', 'y')\n"
            "  rule: a mapped axis is the first or the last of a tuple of axes here\n"
            "  try: apply the collective to one axis after the other");
  ProgramPtr p = program_of({Type(f32, {})}, [](Builder&, const Values& in) {
    return Values{ops::pmax(in[0], {"i"}, 2)};
  });
  EXPECT_EQ(error_of<TraceError>([&] { jvp_program(*p, {true}); }),
            "pmax: it has no derivative\n"
            "  rule: which device holds the extremum is not known where the derivative is taken\n"
            "  try: apply stop_gradient to its operand, or gather with all_gather and reduce");
}
