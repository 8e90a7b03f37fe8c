#include "transform/helpers.h"

namespace tessera::testing {
namespace {

// bend(bend(x*y)) * x / (1 + y^2)
Values formula(Builder& b, const Values& in) {
  Value x = in[0], y = in[1];
  Value one = ops::full(b, f64, x.shape(), 1);
  return {ops::div(ops::mul(bend(bend(ops::mul(x, y))), x), ops::add(one, ops::mul(y, y)))};
}

TEST(Jvp, MatchesTheClosedForm) {
  ProgramPtr p = trace({kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{ops::mul(ops::mul(in[0], in[0]), in[1])};
  });
  JvpProgram j = jvp_program(*p, {true, false});
  EXPECT_EQ(j.nonzero_out, std::vector<bool>{true});
  // d/dx x^2 y = 2 x y
  auto out = run(j.program, {{0.5}, {3.0}, {2.0}});
  EXPECT_EQ(out[0][0], 0.75);
  EXPECT_EQ(out[1][0], 6.0);
}

TEST(Jvp, LeavesOutTangentsThatAreZero) {
  ProgramPtr p = trace({kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{bend(in[0]), bend(in[1]), ops::floor(in[0])};
  });
  JvpProgram j = jvp_program(*p, {true, false});
  EXPECT_EQ(j.nonzero_out, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(j.program->outputs.size(), 4u);
  j = jvp_program(*p, {true, false}, {false, true, false});
  EXPECT_EQ(j.nonzero_out, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(run(j.program, {{1}, {2}, {1}})[4], Doubles{0});
}

TEST(Jvp, IntegersHaveNoTangents) {
  ProgramPtr p = trace({kScalar}, [](Builder&, const Values& in) {
    Value i = ops::convert(in[0], i32);
    return Values{i, ops::mul(ops::convert(i, f64), in[0])};
  });
  JvpProgram j = jvp_program(*p, {true});
  EXPECT_EQ(j.nonzero_out, (std::vector<bool>{false, true}));
  EXPECT_EQ(run(j.program, {{2.5}, {1}}), (std::vector<Doubles>{{2}, {5}, {2}}));
}

TEST(Derivatives, OfAFormulaToSecondOrder) {
  std::mt19937 rng(7);
  ProgramPtr p = trace({vec(3), vec(3)}, formula);
  check_to_second_order(p, random_inputs(rng, *p));
}

TEST(Derivatives, ThirdOrderOfAPower) {
  // x^4: 4x^3, 12x^2, 24x, all exact at integers
  ProgramPtr p = trace({kScalar}, [](Builder&, const Values& in) {
    Value s = ops::mul(in[0], in[0]);
    return Values{ops::mul(s, s)};
  });
  ProgramPtr d1 = grad_program(p), d2 = grad_program(d1), d3 = grad_program(d2);
  EXPECT_EQ(run(d1, {{3}})[0], Doubles{108});
  EXPECT_EQ(run(d2, {{3}})[0], Doubles{108});
  EXPECT_EQ(run(d3, {{3}})[0], Doubles{72});
}

TEST(Derivatives, NestedDifferentiationKeepsPerturbationsApart) {
  // d/dx (x * d/dy (x + y)) = d/dx x = 1, and d/dx (x * d/dy (x * y)) = 2x
  auto outer = [](bool product) {
    ProgramPtr inner = trace({kScalar, kScalar}, [&](Builder&, const Values& in) {
      return Values{product ? ops::mul(in[0], in[1]) : ops::add(in[0], in[1])};
    });
    ProgramPtr d = vjp_program(*inner, {false, true});
    return trace({kScalar}, [&](Builder& b, const Values& in) {
      Values at{in[0], ops::scalar(b, f64, 5), ops::scalar(b, f64, 1)};
      return Values{ops::mul(in[0], b.inline_program(*d, at)[1])};
    });
  };
  EXPECT_EQ(run(grad_program(outer(false)), {{3}})[0], Doubles{1});
  EXPECT_EQ(run(grad_program(outer(true)), {{3}})[0], Doubles{6});
  // Forward mode gives the same.
  JvpProgram j = jvp_program(*outer(true), {true});
  EXPECT_EQ(run(j.program, {{3}, {1}})[1], Doubles{6});
}

TEST(PartialEval, SplitsByDataflow) {
  ProgramPtr p = trace({kScalar, kScalar}, [](Builder&, const Values& in) {
    Value k = bend(in[0]);
    return Values{k, ops::mul(k, in[1]), ops::mul(in[0], in[1])};
  });
  PartialEvaluation s = partial_eval(*p, {false, true});
  EXPECT_EQ(s.unknown_out, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(s.residuals, 2u);  // bend(x), and x forwarded
  EXPECT_EQ(count_ops(*s.known, "div"), 1u);
  EXPECT_EQ(count_ops(*s.unknown, "div"), 0u);
  EXPECT_EQ(s.known->outputs[2], s.known->inputs[0]);
  auto known = run(s.known, {{0.5}});
  EXPECT_EQ(run(s.unknown, {known[1], known[2], {4}}),
            (std::vector<Doubles>{{bend(0.5) * 4}, {2}}));
}

TEST(PartialEval, ResidualsAreNotRepeatedAndConstantsAreNone) {
  ProgramPtr p = trace({vec(2), vec(2)}, [](Builder& b, const Values& in) {
    Value k = bend(in[0]);
    Value c = ops::full(b, f64, {2}, 3);
    return Values{ops::add(ops::mul(k, in[1]), ops::mul(k, ops::mul(c, in[1])))};
  });
  PartialEvaluation s = partial_eval(*p, {false, true});
  EXPECT_EQ(s.residuals, 1u);
  EXPECT_EQ(count_ops(*s.unknown, "constant"), 1u);
}

TEST(PartialEval, ForcedOutputsCross) {
  ProgramPtr p = trace({kScalar}, [](Builder&, const Values& in) {
    return Values{bend(in[0]), in[0]};
  });
  PartialEvaluation s = partial_eval(*p, {false}, {true, false});
  EXPECT_EQ(s.unknown_out, (std::vector<bool>{true, false}));
  EXPECT_EQ(s.residuals, 1u);
  EXPECT_EQ(run(s.known, {{2}}), (std::vector<Doubles>{{2}, {bend(2.0)}}));
}

TEST(Linearize, GivesALinearProgram) {
  ProgramPtr p = trace({vec(2), vec(2)}, formula);
  Linearized lin = linearize_program(*p, {true, true});
  std::vector<Doubles> at{{0.5, 1}, {2, -1}}, v{{1, 2}, {3, 4}};
  auto known = run(lin.known, at);
  std::vector<Doubles> in(known.begin() + 1, known.end());
  in.insert(in.end(), v.begin(), v.end());
  std::vector<Doubles> all = at;
  all.insert(all.end(), v.begin(), v.end());
  EXPECT_EQ(run(lin.linear, in)[0], run(jvp_program(*p, {true, true}).program, all)[1]);
}

TEST(Transpose, AddsCotangentsUp) {
  ProgramPtr p = trace({kScalar, kScalar}, [](Builder&, const Values& in) {
    Value t = in[1];
    return Values{ops::add(ops::mul(in[0], t), t), t};
  });
  ProgramPtr t = transpose_program(*p, {false, true}, {true, true});
  EXPECT_EQ(run(t, {{5}, {2}, {7}}), (std::vector<Doubles>{{5 * 2 + 2 + 7}}));
  t = transpose_program(*p, {false, true}, {false, true});
  EXPECT_EQ(run(t, {{5}, {7}}), (std::vector<Doubles>{{7}}));
  t = transpose_program(*p, {false, true}, {false, false});
  EXPECT_EQ(run(t, {{5}}), (std::vector<Doubles>{{0}}));
}

TEST(Batch, EqualsALoop) {
  ProgramPtr p = trace({vec(3), vec(3)}, formula);
  check_vmap(p, {true, true}, 4);
  check_vmap(p, {true, false}, 4);
  check_vmap(p, {false, true}, 1);
}

TEST(Batch, UnmappedWorkIsDoneOnce) {
  ProgramPtr p = trace({vec(3), vec(3)}, [](Builder&, const Values& in) {
    return Values{bend(in[0]), in[1]};
  });
  BatchProgram b = batch_program(*p, {kUnbatched, 0}, 4, "");
  EXPECT_EQ(b.batched_out, (std::vector<bool>{false, true}));
  EXPECT_EQ(b.program->types[b.program->outputs[0]].shape, Shape({3}));
}

TEST(Batch, CommutesWithGrad) {
  std::mt19937 rng(11);
  ProgramPtr p = trace({vec(3), vec(3)}, [](Builder& b, const Values& in) {
    return Values{ops::reduce_sum(formula(b, in)[0], {0})};
  });
  // grad of the sum over lanes of vmap(p) is vmap(grad(p)), operation for operation
  ProgramPtr vg = batch_program(*grad_program(p), {0, 0}, 4, "").program;
  ProgramPtr gv = grad_program(batch_program(*p, {0, 0}, 4, "").program);
  auto in = random_inputs(rng, *vg);
  EXPECT_EQ(run(vg, in), run(gv, in));
}

TEST(Depth, AHundredThousandEquationsAreWalkedWithoutRecursion) {
  ProgramPtr p = trace({kScalar, kScalar}, [](Builder&, const Values& in) {
    Value x = in[0];
    for (int i = 0; i < 50000; ++i) x = ops::add(ops::mul(x, in[1]), in[0]);
    return Values{x};
  });
  EXPECT_EQ(prune(*p)->equations.size(), 100000u);
  ProgramPtr vjp = vjp_program(*p, {true, true});
  // y = 0: the value is x, d/dx = 1, d/dy = x (from the last product)
  EXPECT_EQ(run(vjp, {{3}, {0}, {1}}), (std::vector<Doubles>{{3}, {1}, {3}}));
  BatchProgram b = batch_program(*p, {0, kUnbatched}, 2, "");
  EXPECT_EQ(run(b.program, {{3, 4}, {0}})[0], (Doubles{3, 4}));
}

TEST(Jvp, ComparisonsHaveNoTangents) {
  // Results that are not floats need no cotangent.
  ProgramPtr q = trace(
      {vec(3)}, [](Builder&, const Values& in) { return Values{ops::lt(in[0], ops::neg(in[0]))}; });
  EXPECT_EQ(jvp_program(*q, {true}).nonzero_out, std::vector<bool>{false});
}

// Random straight-line programs over scalars and vectors.
ProgramPtr random_program(std::uint32_t seed, int length) {
  return trace({vec(4), vec(4), vec(4)}, [&](Builder&, const Values& in) {
    std::mt19937 rng(seed);
    Values pool = in;
    auto pick = [&] { return pool[rng() % pool.size()]; };
    for (int i = 0; i < length; ++i) {
      Value x = pick(), y = pick();
      switch (rng() % 9) {
        case 0: pool.push_back(ops::add(x, y)); break;
        case 1: pool.push_back(ops::sub(x, y)); break;
        case 2: pool.push_back(ops::mul(bend(x), y)); break;
        case 3: pool.push_back(bend(x)); break;
        case 4: pool.push_back(bend(x)); break;
        case 5: pool.push_back(ops::reverse(x, {0})); break;
        case 6:
          pool.push_back(ops::broadcast_in_dim(ops::reduce_sum(bend(x), {0}), {4}, {}));
          break;
        case 7:
          pool.push_back(ops::reshape(ops::transpose(ops::reshape(x, {2, 2}), {1, 0}), {4}));
          break;
        case 8: pool.push_back(bend(x)); break;
      }
    }
    return Values{bend(pool.back()), bend(pool[pool.size() / 2])};
  });
}

TEST(RandomPrograms, ForwardAndReverseAgree) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 rng(seed);
    ProgramPtr p = random_program(seed, 12);
    check_derivatives(p, random_inputs(rng, *p), seed);
  }
}

TEST(RandomPrograms, MappedIsALoop) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    ProgramPtr p = random_program(seed, 12);
    check_vmap(p, {seed % 2 == 0, true, seed % 3 == 0}, 3, seed);
  }
}

}  // namespace
}  // namespace tessera::testing
