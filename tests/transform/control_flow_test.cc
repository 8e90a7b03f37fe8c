#include "transform/helpers.h"

namespace tessera::testing {
namespace {

const Type kIndex(i32, {});

// Branches over (x, y): x*y, y + 2 (the second uses one operand), x^3.
ProgramPtr choice(bool smooth = false) {
  auto branch = [&](int kind) {
    return trace({vec(2), vec(2)}, [&](Builder& b, const Values& in) {
      Value x = smooth ? bend(in[0]) : in[0], y = in[1];
      Value one = ops::mul(x, y), cube = ops::mul(x, ops::mul(x, x));
      return Values{kind == 0   ? one
                    : kind == 1 ? ops::add(y, ops::full(b, f64, {2}, 2))
                                : cube,
                    kind == 2 ? one : ops::mul(y, y)};
    });
  };
  Programs branches{branch(0), branch(1), branch(2)};
  return trace({kIndex, vec(2), vec(2)}, [&](Builder&, const Values& in) {
    return ops::cond(in[0], branches, std::span<const Value>(in).subspan(1));
  });
}

TEST(Cond, ClampsItsIndex) {
  ProgramPtr p = choice();
  for (double k : {-7.0, 0.0}) EXPECT_EQ(run(p, {{k}, {1, 2}, {3, 4}})[0], (Doubles{3, 8}));
  EXPECT_EQ(run(p, {{1}, {1, 2}, {3, 4}})[0], (Doubles{5, 6}));
  for (double k : {2.0, 9.0}) EXPECT_EQ(run(p, {{k}, {1, 2}, {3, 4}})[0], (Doubles{1, 8}));
}

TEST(Cond, DerivativesEqualThoseOfTheBranch) {
  ProgramPtr p = choice();
  const auto& branches = p->equations[0].attrs.get<Programs>("branches");
  ProgramPtr v = vjp_program(*p, {false, true, true});
  ProgramPtr vv = vjp_program(*v, {false, true, true, true, true});
  for (int k = 0; k < 3; ++k) {
    SCOPED_TRACE(k);
    ProgramPtr bv = vjp_program(*branches[static_cast<std::size_t>(k)], {true, true});
    ProgramPtr bvv = vjp_program(*bv, {true, true, true, true});
    std::vector<Doubles> at{{2, -3}, {4, 5}, {1, 2}, {-1, 3}};
    auto with_index = [&](std::vector<Doubles> in) {
      in.insert(in.begin(), Doubles{static_cast<double>(k)});
      return in;
    };
    EXPECT_EQ(run(v, with_index(at)), run(bv, at));
    for (int i = 0; i < 4; ++i) at.push_back({static_cast<double>(i), 1});
    EXPECT_EQ(run(vv, with_index(at)), run(bvv, at));
  }
}

TEST(Cond, BranchesShareResidualSlots) {
  ProgramPtr p = choice();
  Linearized lin = linearize_program(*p, {false, true, true});
  // The residuals are the index, x and y, and two slots: 3 x^2 needs at most two products.
  EXPECT_LE(lin.residuals, 6u);
  EXPECT_EQ(count_ops(*lin.linear, "cond"), 1u);
  EXPECT_EQ(count_ops(*lin.known, "cond"), 1u);
}

TEST(Cond, MappedIndexOrOperands) {
  ProgramPtr p = choice(true);
  check_vmap(p, {true, true, true}, 4);
  check_vmap(p, {true, false, true}, 4);
  check_vmap(p, {true, false, false}, 4);
  check_vmap(p, {false, true, false}, 4);
  ProgramPtr v = vjp_program(*p, {false, true, true});
  check_vmap(v, {false, true, false, true, true}, 3);
}

TEST(Cond, RefusesBranchesThatDisagree) {
  ProgramPtr a = trace({kScalar}, [](Builder&, const Values& in) { return Values{in[0]}; });
  ProgramPtr c =
      trace({kScalar}, [](Builder&, const Values& in) { return Values{ops::convert(in[0], f32)}; });
  EXPECT_THROW(trace({kIndex, kScalar},
                     [&](Builder&, const Values& in) {
                       return ops::cond(in[0], {a, c}, std::span<const Value>(in).subspan(1));
                     }),
               DTypeError);
}

// x <- bend(x) * w + x, n times; a counter to the limit.
ProgramPtr loop() {
  ProgramPtr cond = trace({kIndex, kIndex, vec(2)},
                          [](Builder&, const Values& in) { return Values{ops::lt(in[1], in[0])}; });
  ProgramPtr body = trace({vec(2), kIndex, vec(2)}, [](Builder& b, const Values& in) {
    return Values{ops::add(in[1], ops::scalar(b, i32, 1)),
                  ops::add(ops::mul(bend(in[2]), in[0]), in[2])};
  });
  return trace({kIndex, vec(2), vec(2)}, [&](Builder& b, const Values& in) {
    std::span<const Value> all(in);
    Values init{ops::scalar(b, i32, 0), in[2]};
    return ops::while_(cond, body, all.subspan(0, 1), all.subspan(1, 1), init);
  });
}
ProgramPtr unrolled(int n) {
  return trace({vec(2), vec(2)}, [&](Builder&, const Values& in) {
    Value x = in[1];
    for (int i = 0; i < n; ++i) x = ops::add(ops::mul(bend(x), in[0]), x);
    return Values{x};
  });
}

TEST(While, ForwardModeEqualsTheUnrolledProgram) {
  JvpProgram j = jvp_program(*loop(), {false, true, true});
  EXPECT_EQ(j.nonzero_out, (std::vector<bool>{false, true}));
  JvpProgram u = jvp_program(*unrolled(3), {true, true});
  std::vector<Doubles> at{{0.5, -0.25}, {1, 2}, {3, 4}, {5, 6}};
  auto want = run(u.program, at);
  at.insert(at.begin(), Doubles{3});
  auto got = run(j.program, at);
  EXPECT_EQ(got[1], want[0]);
  EXPECT_EQ(got[2], want[1]);
  // A derivative of the derivative.
  JvpProgram jj = jvp_program(*j.program, {false, true, true, true, true});
  JvpProgram uu = jvp_program(*u.program, {true, true, true, true});
  std::vector<Doubles> wide{{0.5, -0.25}, {1, 2}, {3, 4}, {5, 6}, {1, 1}, {0, 1}, {2, 1}, {1, 0}};
  auto want2 = run(uu.program, wide);
  wide.insert(wide.begin(), Doubles{3});
  auto got2 = run(jj.program, wide);
  EXPECT_EQ(got2[got2.size() - 1], want2[want2.size() - 1]);
}

TEST(While, LinearizesAndRefusesToBeTransposed) {
  ProgramPtr p = loop();
  Linearized lin = linearize_program(*p, {false, true, true});
  std::vector<Doubles> at{{3}, {0.5, -0.25}, {1, 2}};
  auto known = run(lin.known, at);
  std::vector<Doubles> in(known.begin() + 2, known.end());
  in.push_back({3, 4});
  in.push_back({5, 6});
  at.push_back({3, 4});
  at.push_back({5, 6});
  EXPECT_EQ(run(lin.linear, in)[0], run(jvp_program(*p, {false, true, true}).program, at)[2]);
  try {
    vjp_program(*p, {false, true, true});
    FAIL();
  } catch (const TraceError& e) {
    std::string text = e.what();
    EXPECT_EQ(text.rfind("while_loop: reverse-mode", 0), 0u) << text;
    EXPECT_NE(text.find("try scan, or fori_loop with static bounds"), std::string::npos) << text;
  }
}

TEST(While, MappedIsALoop) {
  ProgramPtr p = loop();
  check_vmap(p, {false, true, false}, 3);
  check_vmap(p, {false, false, true}, 3);
  // Each lane has its own limit, so lanes stop at different iterations.
  check_vmap(p, {true, false, true}, 5);
  check_vmap(p, {true, true, true}, 5, 17);
  JvpProgram j = jvp_program(*p, {false, true, true});
  check_vmap(j.program, {true, true, false, true, false}, 5);
}

}  // namespace
}  // namespace tessera::testing
