#include "transform/helpers.h"

namespace tessera::testing {
namespace {

// One computation, as a scan and as a program without loops.
struct Loop {
  std::vector<Type> consts, carry, xs;  // types of xs: of one step
  std::int64_t length;
  bool reverse = false;
  Function body;

  ProgramPtr body_program() const {
    std::vector<Type> types = consts;
    types.insert(types.end(), carry.begin(), carry.end());
    types.insert(types.end(), xs.begin(), xs.end());
    return trace(types, body, "body");
  }
  std::vector<Type> types() const {
    std::vector<Type> types = consts;
    types.insert(types.end(), carry.begin(), carry.end());
    for (Type t : xs) {
      t.shape.insert(t.shape.begin(), length);
      types.push_back(t);
    }
    return types;
  }
  ProgramPtr scanned() const {
    return trace(types(), [&](Builder& b, const Values& in) {
      std::span<const Value> all(in);
      return ops::scan(body_program(), all.subspan(0, consts.size()),
                       all.subspan(consts.size(), carry.size()),
                       all.subspan(consts.size() + carry.size()), length, reverse, b);
    });
  }
  ProgramPtr unrolled() const {
    return trace(types(), [&](Builder& b, const Values& in) {
      ProgramPtr step = body_program();
      std::size_t k = consts.size(), first_x = k + carry.size();
      Values now(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(first_x));
      std::size_t ys = step->outputs.size() - carry.size();
      std::vector<Values> rows(ys, Values(static_cast<std::size_t>(length)));
      for (std::int64_t n = 0; n < length; ++n) {
        std::int64_t at = reverse ? length - 1 - n : n;
        Values args = now;
        for (std::size_t i = first_x; i < in.size(); ++i) {
          Shape shape = in[i].shape();
          Ints start(shape.size(), 0), limit(shape.begin(), shape.end()), strides(shape.size(), 1);
          start[0] = at;
          limit[0] = at + 1;
          shape.erase(shape.begin());
          args.push_back(ops::reshape(ops::slice(in[i], start, limit, strides), shape));
        }
        Values out = b.inline_program(*step, args);
        for (std::size_t i = 0; i < carry.size(); ++i) now[k + i] = out[i];
        for (std::size_t i = 0; i < ys; ++i) {
          Value y = out[carry.size() + i];
          Shape shape = y.shape();
          shape.insert(shape.begin(), 1);
          rows[i][static_cast<std::size_t>(at)] = ops::reshape(y, shape);
        }
      }
      Values result(now.begin() + static_cast<std::ptrdiff_t>(k), now.end());
      for (const Values& r : rows) result.push_back(ops::concatenate(r, 0));
      return result;
    });
  }
};

// c' = c w + x, y = c' x: polynomial, so exact on small integers.
Loop polynomial(bool reverse = false) {
  return {{vec(2)}, {vec(2)}, {vec(2)}, 3, reverse, [](Builder&, const Values& in) {
            Value c = ops::add(ops::mul(in[1], in[0]), in[2]);
            return Values{c, ops::mul(c, in[2])};
          }};
}
Loop smooth(bool reverse = false) {
  return {{vec(2)}, {vec(2)}, {vec(2)}, 4, reverse, [](Builder&, const Values& in) {
            Value c = ops::add(ops::mul(bend(in[1]), bend(in[0])), in[2]);
            return Values{c, ops::mul(bend(c), in[2])};
          }};
}

std::vector<Doubles> integers(std::mt19937& rng, const Program& p) {
  auto in = random_inputs(rng, p, -3, 4);
  for (Doubles& d : in)
    for (double& x : d) x = std::floor(x);
  return in;
}

void expect_same(const ProgramPtr& a, const ProgramPtr& b, const std::vector<Doubles>& at) {
  EXPECT_EQ(run(a, at), run(b, at));
}

class ScanDirection : public ::testing::TestWithParam<bool> {};

TEST_P(ScanDirection, ValueGradientAndSecondGradientEqualTheUnrolledProgram) {
  Loop loop = polynomial(GetParam());
  ProgramPtr s = loop.scanned(), u = loop.unrolled();
  std::mt19937 rng(5);
  for (int i = 0; i < 5; ++i) {
    auto at = integers(rng, *s);
    expect_same(s, u, at);
    std::vector<bool> all(3, true);
    ProgramPtr vs = vjp_program(*s, all), vu = vjp_program(*u, all);
    expect_same(vs, vu, integers(rng, *vs));
    ProgramPtr js = jvp_program(*s, all).program, ju = jvp_program(*u, all).program;
    expect_same(js, ju, integers(rng, *js));
    std::vector<bool> five(5, true);
    auto wide = integers(rng, *vs);
    wide.resize(vjp_program(*vs, five)->inputs.size(), Doubles());
    ProgramPtr vvs = vjp_program(*vs, five), vvu = vjp_program(*vu, five);
    expect_same(vvs, vvu, integers(rng, *vvs));
    ProgramPtr jvs = jvp_program(*vs, five).program, jvu = jvp_program(*vu, five).program;
    expect_same(jvs, jvu, integers(rng, *jvs));
  }
}

TEST_P(ScanDirection, DerivativesToSecondOrder) {
  std::mt19937 rng(6);
  ProgramPtr p = smooth(GetParam()).scanned();
  check_to_second_order(p, random_inputs(rng, *p));
}

TEST_P(ScanDirection, MappedIsALoop) {
  ProgramPtr p = smooth(GetParam()).scanned();
  for (int mask = 1; mask < 8; ++mask) {
    SCOPED_TRACE(mask);
    check_vmap(p, {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0}, 3);
  }
  check_vmap(grad_program(p), {true, false, true}, 3);
}
INSTANTIATE_TEST_SUITE_P(Both, ScanDirection, ::testing::Bool());

TEST(Scan, GradOfVmapIsVmapOfGrad) {
  ProgramPtr p = trace(smooth().types(), [](Builder& b, const Values& in) {
    Values out = b.inline_program(*smooth().scanned(), in);
    return Values{ops::reduce_sum(out[1], {0, 1})};
  });
  std::mt19937 rng(8);
  ProgramPtr vg = batch_program(*grad_program(p), {0, 0, 0}, 3, "").program;
  ProgramPtr gv = grad_program(batch_program(*p, {0, 0, 0}, 3, "").program);
  auto at = random_inputs(rng, *vg);
  EXPECT_EQ(run(vg, at), run(gv, at));
}

TEST(Scan, OfNoSteps) {
  Loop loop = polynomial();
  loop.length = 0;
  ProgramPtr p = loop.scanned();
  EXPECT_EQ(run(p, {{1, 2}, {3, 4}, {}}), (std::vector<Doubles>{{3, 4}, {}}));
  ProgramPtr v = vjp_program(*p, {true, true, true});
  EXPECT_EQ(run(v, {{1, 2}, {3, 4}, {}, {5, 6}, {}}),
            (std::vector<Doubles>{{3, 4}, {}, {0, 0}, {5, 6}, {}}));
}

TEST(Scan, CarriesWithoutTangentsStayOut) {
  // A counter, a carry that has a tangent, and one that has a tangent from the second step on.
  Loop loop{{},
            {Type(i32, {}), kScalar, kScalar, kScalar},
            {kScalar},
            3,
            false,
            [](Builder& b, const Values& in) {
              Value i = ops::add(in[0], ops::scalar(b, i32, 1));
              Value x = ops::mul(in[4], ops::convert(in[0], f64));
              return Values{i, ops::add(in[1], x), in[1], in[2], ops::mul(in[3], in[1])};
            }};
  ProgramPtr s = loop.scanned(), u = loop.unrolled();
  JvpProgram j = jvp_program(*s, {false, false, false, false, true});
  EXPECT_EQ(j.nonzero_out, (std::vector<bool>{false, true, true, true, true}));
  std::mt19937 rng(9);
  std::vector<bool> wrt{false, true, true, true, true};
  ProgramPtr vs = vjp_program(*s, wrt), vu = vjp_program(*u, wrt);
  expect_same(vs, vu, integers(rng, *vs));
  // The backward loop carries no counter.
  EXPECT_EQ(count_ops(*vs, "scan"), 2u);
}

TEST(Scan, ResidualsThatDoNotChangeLeaveTheLoop) {
  // sin of a constant is the same in each step, and x is already available, so only c is collected.
  ProgramPtr s = Loop{
      {vec(2)}, {vec(2)}, {vec(2)}, 4, false, [](Builder&, const Values& in) {
        Value c = ops::mul(ops::mul(in[1], ops::sin(in[0])), in[2]);
        return Values{c};
      }}.scanned();
  Linearized lin = linearize_program(*s, {true, true, true});
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < lin.residuals; ++i)
    shapes.push_back(lin.linear->types[lin.linear->inputs[i]].shape);
  std::size_t stacked = 0, constant = 0;
  for (const Shape& s : shapes) (s.rank() == 2 ? stacked : constant) += 1;
  EXPECT_EQ(constant, 2u);  // sin(w), cos(w)
  EXPECT_EQ(stacked, 3u);   // c, c sin(w), x
  EXPECT_EQ(count_ops(*lin.linear, "sin") + count_ops(*lin.linear, "cos"), 0u);
}

// The results of a branch on the loop's constants are the same in every iteration: sin(w), which
// one branch multiplies by the carry, leaves the loop as it does without branches.
TEST(Scan, ResidualsOfBranchesThatDoNotChangeLeaveTheLoop) {
  const Loop loop{{vec(2)}, {vec(2)}, {Type(DType::int32, {})}, 4, false, [](Builder&, Values in) {
                    const ProgramPtr one = trace({vec(2), vec(2)},
                                                 [](Builder&, const Values&v) {
                                                   Value s = ops::sin(ops::mul(v[0], v[0]));
                                                   return Values{ops::mul(v[1], s)};
                                                 }),
                                     other = trace({vec(2), vec(2)}, [](Builder&, const Values&v) {
                                       return Values{ops::mul(ops::cos(v[0]), v[1])};
                                     });
                    const Value c = ops::cond(in[2], {one, other}, Values{in[0], in[1]})[0];
                    return Values{c};
                  }};
  const ProgramPtr s = loop.scanned(), u = loop.unrolled();
  const std::vector<bool> wrt{true, true, false};
  Linearized lin = linearize_program(*s, wrt);
  std::size_t stacked = 0, constant = 0;
  for (std::size_t i = 0; i < lin.residuals; ++i) {
    const Shape& shape = lin.linear->types[lin.linear->inputs[i]].shape;
    if (shape.rank() == 2) ++stacked;
    if (shape.rank() == 1 && shape[0] == 2) ++constant;
  }
  EXPECT_EQ(stacked, 1u);   // c
  EXPECT_EQ(constant, 5u);  // all values computed from w
  ProgramPtr vs = vjp_program(*s, wrt), vu = vjp_program(*u, wrt);
  for (int k = 0; k < 16; ++k) {
    Doubles turns;
    for (int i = 0; i < 4; ++i) turns.push_back(static_cast<double>((k >> i) & 1));
    const std::vector<Doubles> at{{0.5, -1}, {2, 3}, turns, {1, -2}};
    EXPECT_EQ(run(vs, at), run(vu, at)) << k;
  }
}

TEST(Scan, OfAScan) {
  Loop inner = smooth();
  inner.length = 2;
  Loop outer{{vec(2)}, {vec(2)}, {Type(f64, {2, 2})}, 3, false, [&](Builder& b, const Values& in) {
               return b.inline_program(*inner.scanned(), in);
             }};
  ProgramPtr p = outer.scanned();
  std::mt19937 rng(10);
  check_to_second_order(p, random_inputs(rng, *p));
  check_vmap(p, {true, false, true}, 2);
  check_vmap(grad_program(p), {false, true, true}, 2);
  Loop exact = polynomial();
  Loop nested{{vec(2)}, {vec(2)}, {Type(f64, {3, 2})}, 2, true, [&](Builder& b, const Values& in) {
                return b.inline_program(*exact.scanned(), in);
              }};
  ProgramPtr vs = vjp_program(*nested.scanned(), {true, true, true}),
             vu = vjp_program(*nested.unrolled(), {true, true, true});
  expect_same(vs, vu, integers(rng, *vs));
}

TEST(Scan, LinearInItsOperandsWithACounter) {
  // The sum of i * x_i, transposed directly: the counter runs first.
  ProgramPtr p = trace({vec(3)}, [](Builder& b, const Values& in) {
    ProgramPtr body = trace({Type(i32, {}), kScalar, kScalar}, [](Builder& c, const Values& v) {
      return Values{ops::add(v[0], ops::scalar(c, i32, 1)),
                    ops::add(v[1], ops::mul(ops::convert(v[0], f64), v[2]))};
    });
    Values carry{ops::scalar(b, i32, 1), ops::scalar(b, f64, 0)};
    return Values{ops::scan(body, {}, carry, in, 3, false, b)[1]};
  });
  EXPECT_EQ(run(p, {{5, 6, 7}})[0], Doubles{5 + 12 + 21});
  EXPECT_EQ(run(transpose_program(*p, {true}, {true}), {{2}})[0], (Doubles{2, 4, 6}));
}

TEST(Scan, RefusesACarryThatChanges) {
  Loop loop{{},        {kScalar},
            {kScalar}, 3,
            false,     [](Builder&, const Values& in) { return Values{ops::convert(in[0], f32)}; }};
  EXPECT_THROW(loop.scanned(), DTypeError);
  loop.body = [](Builder&, const Values& in) {
    return Values{ops::broadcast_in_dim(in[0], {2}, {})};
  };
  EXPECT_THROW(loop.scanned(), ShapeError);
}

}  // namespace
}  // namespace tessera::testing
