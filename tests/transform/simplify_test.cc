#include "transform/simplify.h"
#include "base/settings.h"
#include "codegen/tape/planner.h"
#include "transform/dead_code.h"
#include "transform/helpers.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace tessera::testing {
namespace {

TEST(Cancel, RemovesWhatGivesBackItsOperand) {
  ProgramPtr p = trace({vec(3)}, [](Builder& b, const Values& in) {
    Value x = in[0], one = ops::full(b, f64, {3}, 1), zero = ops::full(b, f64, {3}, 0);
    x = ops::sub(ops::div(ops::mul(one, ops::mul(x, one)), one), zero);
    x = ops::neg(ops::neg(x));
    x = ops::reverse(ops::reverse(x, {0}), {0});
    x = ops::add(x, ops::full(b, f64, {3}, -0.0));
    return Values{x};
  });
  ProgramPtr q = simplify(p);
  EXPECT_TRUE(q->equations.empty());
  EXPECT_EQ(q->outputs, q->inputs);
}

TEST(Cancel, KeepsWhatChangesBits) {
  // -0 + 0 is 0, -0 - -0 is 0, and a conversion to an integer loses the fraction.
  ProgramPtr p = trace({kScalar}, [](Builder& b, const Values& in) {
    return Values{
        ops::add(in[0], ops::scalar(b, f64, 0)), ops::sub(in[0], ops::scalar(b, f64, -0.0)),
        ops::convert(ops::convert(in[0], i32), f64), ops::convert(ops::convert(in[0], f32), f64)};
  });
  ProgramPtr q = simplify(p);
  EXPECT_EQ(count_ops(*q, "add"), 1u);
  EXPECT_EQ(count_ops(*q, "sub"), 1u);
  EXPECT_EQ(count_ops(*q, "convert"), 4u);
}

TEST(Cancel, ConversionsThroughAWiderType) {
  for (auto [narrow, wide] : {std::pair{f32, f64},
                              {bf16, f32},
                              {f16, f32},
                              {i32, i64},
                              {bool_, f32},
                              {i16, f32},
                              {u8, f16},
                              {i8, bf16},
                              {u32, i32}}) {
    ProgramPtr p = trace({Type(narrow, {})}, [&](Builder&, const Values& in) {
      return Values{ops::convert(ops::convert(in[0], wide), narrow)};
    });
    EXPECT_TRUE(simplify(p)->equations.empty()) << name_of(narrow);
  }
  for (auto [narrow, wide] :
       {std::pair{f64, f32}, {f32, bf16}, {i32, f32}, {f16, bf16}, {i64, i32}, {i16, f16}}) {
    ProgramPtr p = trace({Type(narrow, {})}, [&](Builder&, const Values& in) {
      return Values{ops::convert(ops::convert(in[0], wide), narrow)};
    });
    EXPECT_EQ(simplify(p)->equations.size(), 2u) << name_of(narrow);
  }
}

TEST(Cancel, ComposesMovements) {
  Type cube(f64, {2, 3, 4});
  ProgramPtr p = trace({cube}, [](Builder&, const Values& in) {
    Value t = ops::transpose(ops::transpose(in[0], {1, 2, 0}), {1, 0, 2});
    return Values{t, ops::transpose(ops::transpose(in[0], {1, 2, 0}), {2, 0, 1}),
                  ops::reshape(ops::reshape(in[0], {24}), {4, 6}),
                  ops::reshape(ops::reshape(in[0], {24}), {2, 3, 4})};
  });
  ProgramPtr q = simplify(p);
  EXPECT_EQ(q->equations.size(), 2u);
  Doubles in(24);
  for (int i = 0; i < 24; ++i) in[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(run(q, {in}), run(p, {in}));
}

TEST(Fold, ComputesExactScalars) {
  ProgramPtr p = trace({kScalar}, [](Builder& b, const Values& in) {
    Value three = ops::add(ops::scalar(b, f64, 1), ops::scalar(b, f64, 2));
    Value e = ops::exp(ops::scalar(b, f64, 1));
    return Values{ops::mul(in[0], three), ops::mul(in[0], e)};
  });
  ProgramPtr q = simplify(p);
  EXPECT_EQ(count_ops(*q, "add"), 0u);
  EXPECT_EQ(count_ops(*q, "exp"), 1u);  // the library's exp determines the bits
  EXPECT_EQ(run(q, {{5}}), run(p, {{5}}));
}

TEST(Cse, MergesEqualEquations) {
  ProgramPtr p = trace({vec(2), vec(2)}, [](Builder&, const Values& in) {
    Value a = ops::mul(bend(in[0]), in[1]), c = ops::mul(bend(in[0]), in[1]),
          d = ops::mul(bend(in[1]), in[1]);
    return Values{a, c, d};
  });
  ProgramPtr q = simplify(p);
  EXPECT_EQ(q->outputs[0], q->outputs[1]);
  EXPECT_EQ(count_ops(*q, "div"), 2u);
  EXPECT_EQ(run(q, {{1, 2}, {3, 4}}), run(p, {{1, 2}, {3, 4}}));
}

TEST(Cse, LeavesBarriersAlone) {
  ProgramPtr p = trace({vec(2)}, [](Builder&, const Values& in) {
    return Values{bend(in[0]), bend(ops::optimization_barrier(in[0])),
                  bend(ops::optimization_barrier(in[0]))};
  });
  EXPECT_EQ(count_ops(*simplify(p), "div"), 3u);
}

TEST(DeadCode, NarrowsLoopsAndBranches) {
  // There are three carries: the result needs the first, which needs the second.
  ProgramPtr body =
      trace({kScalar, kScalar, kScalar, kScalar, kScalar}, [](Builder&, const Values& in) {
        return Values{ops::add(in[1], in[2]), ops::mul(in[2], in[4]), ops::mul(in[3], in[0]),
                      bend(in[3])};
      });
  std::vector<Type> types{kScalar, kScalar, kScalar, kScalar, vec(4)};
  ProgramPtr p = trace(types, [&](Builder& b, const Values& in) {
    std::span<const Value> all(in);
    return Values{
        ops::scan(body, all.subspan(0, 1), all.subspan(1, 3), all.subspan(4, 1), 4, false, b)[0]};
  });
  ProgramPtr q = dead_code(*p);
  const Equation& scan = q->equations.at(0);
  EXPECT_EQ(scan.attrs.i("consts"), 0);
  EXPECT_EQ(scan.attrs.i("carry"), 2);
  EXPECT_EQ(scan.outputs.size(), 2u);
  EXPECT_EQ(count_ops(*q, "div"), 0u);
  std::vector<Doubles> at{{2}, {3}, {5}, {7}, {1, 2, 3, 4}};
  EXPECT_EQ(run(q, at), run(p, at));

  ProgramPtr one = trace({kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{in[0], bend(in[1])};
  });
  ProgramPtr two = trace({kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{ops::neg(in[0]), in[1]};
  });
  ProgramPtr c = trace({Type(i32, {}), kScalar, kScalar}, [&](Builder&, const Values& in) {
    return Values{ops::cond(in[0], {one, two}, std::span<const Value>(in).subspan(1))[0]};
  });
  ProgramPtr d = dead_code(*c);
  EXPECT_EQ(d->equations.at(0).inputs.size(), 2u);
  EXPECT_EQ(run(d, {{1}, {2}, {3}}), run(c, {{1}, {2}, {3}}));

  ProgramPtr go = trace({Type(i32, {}), kScalar, kScalar}, [](Builder& b, const Values& in) {
    return Values{ops::lt(in[0], ops::scalar(b, i32, 3))};
  });
  ProgramPtr step = trace({Type(i32, {}), kScalar, kScalar}, [](Builder& b, const Values& in) {
    return Values{ops::add(in[0], ops::scalar(b, i32, 1)), ops::add(in[1], in[1]), bend(in[2])};
  });
  ProgramPtr w = trace({Type(i32, {}), kScalar, kScalar}, [&](Builder&, const Values& in) {
    return Values{ops::while_(go, step, {}, {}, in)[1]};
  });
  ProgramPtr v = dead_code(*w);
  EXPECT_EQ(v->equations.at(0).inputs.size(), 2u);
  EXPECT_EQ(run(v, {{0}, {5}, {1}}), (std::vector<Doubles>{{40}}));
}

TEST(SelectBranches, SelectsBetweenSmallOnesInLoops) {
  const auto branches = [](std::int64_t n) {
    const Type t = n == 1 ? kScalar : vec(n);
    ProgramPtr up = trace({t, t}, [](Builder&, const Values& in) {
      return Values{ops::add(in[0], in[1]), in[1]};
    });
    ProgramPtr half = trace({t, t}, [&](Builder& b, const Values& in) {
      return Values{ops::mul(in[0], ops::full(b, f64, in[0].shape(), 0.5)), in[0]};
    });
    ProgramPtr down = trace({t, t}, [](Builder&, const Values& in) {
      return Values{ops::sub(in[0], in[1]), ops::neg(in[1])};
    });
    return Programs{up, half, down};
  };
  // Indices below the first and above the last branch select these.
  const ProgramPtr body = trace({kScalar, kScalar, Type(i32, {})}, [&](Builder&, const Values& in) {
    Values out = ops::cond(in[2], branches(1), std::span<const Value>(in).first(2));
    return Values{out[0], in[1], out[1]};
  });
  const ProgramPtr p = trace({kScalar, kScalar, Type(i32, {5})}, [&](Builder& b, const Values& in) {
    return ops::scan(body, {}, std::span<const Value>(in).first(2),
                     std::span<const Value>(in).subspan(2), 5, false, b);
  });
  const ProgramPtr q = select_branches(p);
  EXPECT_EQ(count_ops(*p, "cond"), 1u);
  EXPECT_EQ(count_ops(*q, "cond"), 0u);
  const std::vector<Doubles> at{{16}, {3}, {0, 1, 2, -7, 9}};
  EXPECT_EQ(run(q, at), run(p, at));
  EXPECT_EQ(run(q, at)[0], (Doubles{6.5}));

  // Outside of a loop, and where a branch has many elements, one of them is run.
  const ProgramPtr outside =
      trace({Type(i32, {}), kScalar, kScalar}, [&](Builder&, const Values& in) {
        return ops::cond(in[0], branches(1), std::span<const Value>(in).subspan(1));
      });
  EXPECT_EQ(select_branches(outside), outside);
  const ProgramPtr wide = trace({vec(1000), vec(1000), Type(i32, {})}, [&](Builder&,
                                                                           const Values& in) {
    return Values{ops::cond(in[2], branches(1000), std::span<const Value>(in).first(2))[0], in[1]};
  });
  const ProgramPtr in_loop =
      trace({vec(1000), vec(1000), Type(i32, {5})}, [&](Builder& b, const Values& in) {
        return ops::scan(wide, {}, std::span<const Value>(in).first(2),
                         std::span<const Value>(in).subspan(2), 5, false, b);
      });
  EXPECT_EQ(select_branches(in_loop), in_loop);
}

TEST(Simplify, ReachesNestedPrograms) {
  ProgramPtr body = trace({kScalar, kScalar}, [](Builder& b, const Values& in) {
    return Values{ops::mul(ops::add(in[0], in[1]), ops::scalar(b, f64, 1))};
  });
  ProgramPtr p = trace({kScalar, vec(3)}, [&](Builder& b, const Values& in) {
    std::span<const Value> all(in);
    return ops::scan(body, {}, all.subspan(0, 1), all.subspan(1, 1), 3, false, b);
  });
  EXPECT_EQ(count_ops(*simplify(p), "mul"), 0u);
}

TEST(Simplify, GradientsKeepTheirBits) {
  std::mt19937 rng(1);
  ProgramPtr p = trace({vec(3), vec(3)}, [](Builder&, const Values& in) {
    Value h = bend(ops::mul(in[0], in[1]));
    return Values{
        ops::div(ops::mul(h, bend(h)), ops::add(ops::mul(in[1], in[1]), ops::full_like(h, 1)))};
  });
  ProgramPtr g = grad_program(grad_program(p)), s = simplify(g);
  EXPECT_LT(s->equations.size(), g->equations.size());
  auto at = random_inputs(rng, *p);
  EXPECT_EQ(run(s, at), run(g, at));
}

TEST(Passes, TheSettingKnowsThemAll) {
  std::vector<std::string_view> names;
  for (const Pass& pass : simplify_passes()) names.push_back(pass.name);
  for (std::string_view pass : tape::tape_passes()) names.push_back(pass);
  for (const settings::Variable& v : settings::variables())
    if (std::string_view(v.name) == "TESSERA_DISABLE_PASSES") {
      EXPECT_EQ(v.choices, names);
    }
}

TEST(Passes, CanBeSwitchedOffAndAreTimed) {
  ProgramPtr p = trace({kScalar}, [](Builder& b, const Values& in) {
    return Values{ops::mul(in[0], ops::scalar(b, f64, 1))};
  });
  setenv("TESSERA_DISABLE_PASSES", "fold,cancel", 1);
  EXPECT_EQ(count_ops(*simplify(p), "mul"), 1u);
  unsetenv("TESSERA_DISABLE_PASSES");
  auto runs = [](const std::string& name) {
    for (const PassTime& t : pass_times())
      if (t.name == name) return t.runs;
    return std::int64_t{0};
  };
  std::int64_t before = runs("cancel");
  EXPECT_EQ(count_ops(*simplify(p), "mul"), 0u);
  EXPECT_EQ(runs("cancel"), before + 1);
}

// A backward recurrence: in every iteration, the vector is multiplied along the matrix's minor
// dimension.
TEST(Hoist, TurnsAMatrixOnceForAllSteps) {
  Type w(f64, {3, 5});
  ProgramPtr body = trace({w, vec(3), vec(5)}, [](Builder&, const Values& in) {
    Value product = ops::dot_general(in[2], in[0], {{0}, {1}, {}, {}});
    return Values{ops::add(product, ops::mul(in[1], in[1])), ops::sub(product, in[1])};
  });
  ProgramPtr p = trace({w, vec(3), Type(f64, {2, 5})}, [&](Builder& b, const Values& in) {
    std::span<const Value> all = in;
    return ops::scan(body, all.subspan(0, 1), all.subspan(1, 1), all.subspan(2, 1), 2, false, b);
  });
  ProgramPtr q = simplify(p);
  EXPECT_EQ(q->equations[0].op->name, "transpose");
  const Equation& loop = q->equations.back();
  EXPECT_EQ(loop.attrs.i("consts"), 1);  // the original matrix is no longer needed
  const Program& inside = *loop.attrs.program("body");
  EXPECT_EQ(inside.equations[0].op->name, "dot_general");
  EXPECT_EQ(inside.equations[0].attrs.ints("rhs_contracting"), Ints{0});
  std::vector<Doubles> in;
  for (Var i : p->inputs)
    for (Doubles& x = in.emplace_back(); std::ssize(x) < p->type(i).shape.count();)
      x.push_back(static_cast<double>(x.size() % 5) - 2);
  EXPECT_EQ(run(p, in), run(q, in));
}

TEST(Passes, WriteWhatTheyDid) {
  namespace fs = std::filesystem;
  fs::path directory = fs::temp_directory_path() / ("tessera_passes_" + std::to_string(getpid()));
  fs::create_directory(directory);
  ProgramPtr p = trace({kScalar}, [](Builder& b, const Values& in) {
    return Values{ops::mul(in[0], ops::scalar(b, f64, 1))};
  });
  setenv("TESSERA_DUMP_PASSES", directory.c_str(), 1);
  ProgramPtr q = run_pass(simplify_passes()[0], p);
  unsetenv("TESSERA_DUMP_PASSES");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(names[0].ends_with("-cancel-after.txt")) << names[0];
  EXPECT_TRUE(names[1].ends_with("-cancel-before.txt")) << names[1];
  auto text = [&](const std::string& name) {
    std::ifstream in(directory / name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(text(names[1]), to_string(*p) + "\n");
  EXPECT_EQ(text(names[0]), to_string(*q) + "\n");
  fs::remove_all(directory);
}

}  // namespace
}  // namespace tessera::testing
