#include "ir/custom.h"
#include "transform/helpers.h"

namespace tessera::testing {
namespace {

// x^2 y, with rules that return ten times the derivative, which shows which rule was used.
struct TenfoldJvp : CustomJvpRule {
  std::string name() const override { return "tenfold"; }
  ProgramPtr rule(const std::vector<Type>& types, const std::vector<bool>& nonzero) const override {
    Builder b("tenfold");
    Value x = b.input(types[0]), y = b.input(types[1]);
    MaybeValue dx, dy;
    if (nonzero[0]) dx = b.input(types[0]);
    if (nonzero[1]) dy = b.input(types[1]);
    Value ten = ops::full_like(x, 10);
    Value t = ops::zeros_like(x);
    if (dx) t = ops::add(t, ops::mul(ten, ops::mul(ops::mul(ops::add(x, x), y), *dx)));
    if (dy) t = ops::add(t, ops::mul(ten, ops::mul(ops::mul(x, x), *dy)));
    Values out{ops::mul(ops::mul(x, x), y), t};
    return b.finish(out);
  }
};
struct TenfoldVjp : CustomVjpRule {
  std::string name() const override { return "tenfold"; }
  ProgramPtr forward(const std::vector<Type>& types) const override {
    Builder b("forward");
    Value x = b.input(types[0]), y = b.input(types[1]);
    Values out{ops::mul(ops::mul(x, x), y), x, y};
    return b.finish(out);
  }
  ProgramPtr backward(const std::vector<Type>& types,
                      const std::vector<Type>& residuals) const override {
    Builder b("backward");
    Value x = b.input(residuals[0]), y = b.input(residuals[1]), ct = b.input(types[0]);
    Value ten = ops::mul(ops::full_like(ct, 10), ct);
    Values out{ops::mul(ten, ops::mul(ops::add(x, x), y)), ops::mul(ten, ops::mul(x, x))};
    return b.finish(out);
  }
};

const std::vector<Type> kTypes{vec(2), vec(2)};
ProgramPtr body() {
  return trace(kTypes, [](Builder&, const Values& in) {
    return Values{ops::mul(ops::mul(in[0], in[0]), in[1])};
  });
}
ProgramPtr with_jvp() {
  return trace(kTypes, [](Builder& b, const Values& in) {
    return ops::custom_jvp_call(b, body(), in, std::make_shared<TenfoldJvp>());
  });
}
ProgramPtr with_vjp() {
  return trace(kTypes, [](Builder& b, const Values& in) {
    return ops::custom_vjp_call(b, body(), in, std::make_shared<TenfoldVjp>());
  });
}
const std::vector<Doubles> kAt{{2, 3}, {5, 7}};

TEST(CustomJvp, AsksTheRule) {
  ProgramPtr p = with_jvp();
  EXPECT_EQ(run(p, kAt)[0], (Doubles{20, 63}));
  EXPECT_EQ(run(jvp_program(*p, {true, false}).program, {{2, 3}, {5, 7}, {1, 1}})[1],
            (Doubles{200, 420}));
  EXPECT_EQ(run(grad_program(p), kAt), (std::vector<Doubles>{{200, 420}, {40, 90}}));
  // The rule's own program is differentiated next: d/dx (20 x y + 10 x^2) = 20 y + ...
  EXPECT_EQ(run(grad_program(grad_program(p)), kAt), (std::vector<Doubles>{{100, 140}, {40, 60}}));
}

TEST(CustomJvp, MapsFunctionAndRule) {
  for (const std::vector<bool>& mapped :
       {std::vector<bool>{true, true}, {true, false}, {false, true}}) {
    check_vmap(with_jvp(), mapped, 3, 1, true);
    check_vmap(grad_program(with_jvp()), mapped, 3, 2, true);
    // In the other order, the rule is used after mapping.
    BatchProgram b =
        batch_program(*with_jvp(), {mapped[0] ? 0 : kUnbatched, mapped[1] ? 0 : kUnbatched}, 2, "");
    Doubles x = mapped[0] ? Doubles{2, 3, 4, 5} : Doubles{2, 3},
            y = mapped[1] ? Doubles{5, 7, 1, 2} : Doubles{5, 7};
    auto at = [](const Doubles& d, std::size_t lane) {
      return d.size() == 2 ? Doubles(d) : Doubles{d[2 * lane], d[2 * lane + 1]};
    };
    auto got = run(grad_program(b.program), {x, y});
    auto first = run(grad_program(with_jvp()), {at(x, 0), at(y, 0)}),
         second = run(grad_program(with_jvp()), {at(x, 1), at(y, 1)});
    for (int i = 0; i < 2; ++i) {
      Doubles want = first[i];
      if (mapped[i])
        want.insert(want.end(), second[i].begin(), second[i].end());
      else
        for (int k = 0; k < 2; ++k) want[k] += second[i][k];
      EXPECT_EQ(got[i], want);
    }
  }
}

TEST(CustomVjp, AsksTheRule) {
  ProgramPtr p = with_vjp();
  EXPECT_EQ(run(p, kAt)[0], (Doubles{20, 63}));
  EXPECT_EQ(run(grad_program(p), kAt), (std::vector<Doubles>{{200, 420}, {40, 90}}));
  EXPECT_EQ(run(grad_program(grad_program(p)), kAt), (std::vector<Doubles>{{100, 140}, {40, 60}}));
  // Forward over reverse works: the backward pass consists of ordinary operations.
  JvpProgram j = jvp_program(*grad_program(p), {true, false});
  EXPECT_EQ(run(j.program, {{2, 3}, {5, 7}, {1, 1}})[2], (Doubles{100, 140}));
}

TEST(CustomVjp, HasNoForwardMode) {
  ProgramPtr j = jvp_program(*with_vjp(), {true, true}).program;
  EXPECT_THROW(run(j, {{2, 3}, {5, 7}, {1, 1}, {1, 1}}), TraceError);
  try {
    require_forward_mode(*j);
    ADD_FAILURE();
  } catch (const TraceError& e) {
    EXPECT_EQ(std::string(e.what()).rfind(
                  "jvp: a function with a custom_vjp rule has no forward-mode derivative", 0),
              0u)
        << e.what();
  }
  EXPECT_NO_THROW(require_forward_mode(*vjp_program(*with_vjp(), {true, true})));
}

TEST(CustomVjp, MapsFunctionAndRule) {
  for (const std::vector<bool>& mapped :
       {std::vector<bool>{true, true}, {true, false}, {false, true}}) {
    check_vmap(with_vjp(), mapped, 3, 1, true);
    check_vmap(grad_program(with_vjp()), mapped, 3, 2, true);
    std::vector<int> dims{mapped[0] ? 0 : kUnbatched, mapped[1] ? 0 : kUnbatched};
    ProgramPtr a = grad_program(batch_program(*with_vjp(), dims, 2, "").program);
    ProgramPtr b = grad_program(batch_program(*with_jvp(), dims, 2, "").program);
    std::vector<Doubles> at{mapped[0] ? Doubles{2, 3, 4, 5} : Doubles{2, 3},
                            mapped[1] ? Doubles{5, 7, 1, 2} : Doubles{5, 7}};
    EXPECT_EQ(run(a, at), run(b, at));
    // Mapping a linearised program maps its stand-in for the rule.
    Linearized lin = linearize_program(*with_vjp(), {true, true});
    std::vector<int> all{dims[0], dims[1]};
    BatchProgram known = batch_program(*lin.known, all, 2, "");
    std::vector<int> linear_dims;
    for (std::size_t i = 1; i < known.batched_out.size(); ++i)
      linear_dims.push_back(known.batched_out[i] ? 0 : kUnbatched);
    linear_dims.insert(linear_dims.end(), dims.begin(), dims.end());
    BatchProgram linear = batch_program(*lin.linear, linear_dims, 2, "");
    std::vector<bool> mask(linear.program->inputs.size(), true);
    std::fill_n(mask.begin(), lin.residuals, false);
    auto values = run(known.program, at);
    std::vector<Doubles> in(values.begin() + 1, values.end());
    in.push_back({1, 1, 1, 1});
    EXPECT_EQ(run(transpose_program(*linear.program, mask, {true}), in), run(a, at));
  }
}

TEST(Custom, InsideLoopsBranchesAndRegions) {
  for (const ProgramPtr& f : {with_jvp(), with_vjp()}) {
    ProgramPtr step = trace({vec(2), vec(2)}, [&](Builder& b, const Values& in) {
      Value y = b.inline_program(*f, in)[0];
      return Values{y, y};
    });
    ProgramPtr looped = trace({vec(2), Type(f64, {2, 2})}, [&](Builder& b, const Values& in) {
      std::span<const Value> all(in);
      Values out = ops::scan(step, {}, all.subspan(0, 1), all.subspan(1, 1), 2, false, b);
      return Values{out[0]};
    });
    // y1 = x^2 a, y2 = y1^2 b: dy2/dx = 10 * 2 y1 b * 10 * 2 x a
    auto g = run(grad_program(looped), {{1, 2}, {3, 1, 2, 1}});
    EXPECT_EQ(g[0], (Doubles{100 * 2 * 3 * 2 * 2 * 3, 100 * 2 * 4 * 1 * 2 * 2 * 1}));
    ProgramPtr region =
        trace({vec(2), vec(2)}, [&](Builder& b, const Values& in) { return ops::remat(b, f, in); });
    EXPECT_EQ(run(grad_program(region), kAt), run(grad_program(f), kAt));
    ProgramPtr branch = trace({Type(i32, {}), vec(2), vec(2)}, [&](Builder&, const Values& in) {
      return ops::cond(in[0], {f, body()}, std::span<const Value>(in).subspan(1));
    });
    EXPECT_EQ(run(grad_program(branch), {{0}, kAt[0], kAt[1]})[0], (Doubles{200, 420}));
    EXPECT_EQ(run(grad_program(branch), {{1}, kAt[0], kAt[1]})[0], (Doubles{20, 42}));
  }
}

TEST(Custom, ARuleOfTheWrongTypeIsRefused) {
  struct Wrong : CustomJvpRule {
    std::string name() const override { return "wrong"; }
    ProgramPtr rule(const std::vector<Type>& types, const std::vector<bool>&) const override {
      return trace({types[0], types[0]}, [](Builder&, const Values& in) {
        return Values{in[0], ops::convert(in[1], f32)};
      });
    }
  };
  ProgramPtr p = trace({vec(2)}, [](Builder& b, const Values& in) {
    ProgramPtr same = trace({vec(2)}, [](Builder&, const Values& v) { return v; });
    return ops::custom_jvp_call(b, same, in, std::make_shared<Wrong>());
  });
  try {
    jvp_program(*p, {true});
    FAIL();
  } catch (const TraceError& e) {
    EXPECT_EQ(std::string(e.what()),
              "custom_jvp: the rule of 'wrong' gives an output tangent f32[2]\n"
              "  rule: results and output tangents have the types of the function's results, here "
              "f64[2]\n"
              "  try: astype or reshape on what the rule returns");
  }
}

}  // namespace
}  // namespace tessera::testing
