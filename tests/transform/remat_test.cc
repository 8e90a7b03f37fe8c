#include "transform/helpers.h"
#include "transform/policies.h"

#include <set>

namespace tessera::testing {
namespace {

const Type kMatrix(f64, {2, 2});

Value matmul(Value x, Value y) {
  ops::DotDims dims;
  dims.lhs_contracting = {1};
  dims.rhs_contracting = {0};
  return ops::dot_general(x, y, dims);
}

// Two layers, bend(bend(x w) v), with the first product marked.
Values layers(Builder&, const Values& in) {
  Value first = ops::checkpoint_name(matmul(in[0], in[1]), "first");
  return {bend(matmul(bend(first), in[2]))};
}
const std::vector<Type> kTypes{kMatrix, kMatrix, kMatrix};

ProgramPtr plain() { return trace(kTypes, layers); }
ProgramPtr checkpointed(HookPtr policy = nullptr) {
  return trace(kTypes,
               [&](Builder& b, const Values& in) { return ops::remat(b, plain(), in, policy); });
}

std::size_t residuals(HookPtr policy) {
  return linearize_program(*checkpointed(policy), {true, true, true}).residuals;
}

TEST(Remat, ComputesTheSameToSecondOrder) {
  std::mt19937 rng(3);
  ProgramPtr p = plain();
  for (const RematPolicyPtr& policy : {RematPolicyPtr(), nothing_saveable(), everything_saveable(),
                                       dots_saveable(), save_only_these_names({"first"})}) {
    SCOPED_TRACE(policy ? policy->name() : "none");
    ProgramPtr c = checkpointed(policy);
    auto at = random_inputs(rng, *p);
    EXPECT_EQ(run(c, at), run(p, at));
    EXPECT_EQ(run(grad_program(c), at), run(grad_program(p), at));
    check_to_second_order(c, at);
  }
}

TEST(Remat, KeepsTheInputsOnly) {
  EXPECT_EQ(residuals(nullptr), 3u);
  EXPECT_EQ(residuals(nothing_saveable()), 3u);
  Linearized lin = linearize_program(*checkpointed(), {true, true, true});
  std::set<Var> kept(lin.known->outputs.begin() + 1, lin.known->outputs.end());
  EXPECT_EQ(kept, std::set<Var>(lin.known->inputs.begin(), lin.known->inputs.end()))
      << "the inputs themselves";
}

TEST(Remat, KeepsWhatThePolicyAllows) {
  EXPECT_EQ(residuals(dots_saveable()), 5u);
  EXPECT_EQ(residuals(dots_with_no_batch_dims_saveable()), 5u);
  EXPECT_EQ(residuals(save_only_these_names({"first"})), 4u);
  EXPECT_EQ(residuals(save_only_these_names({"other"})), 3u);
  EXPECT_EQ(residuals(save_any_names_but_these({"first"})), 3u);
  EXPECT_EQ(residuals(save_any_names_but_these({"other"})), 4u);
  EXPECT_EQ(residuals(everything_saveable()),
            linearize_program(*plain(), {true, true, true}).residuals);
}

TEST(Remat, RunsProductsAgainUnlessTheyAreKept) {
  // There are two products forward and four backward. Both forward products are recomputed, because
  // bend's derivative needs its operand.
  auto dots = [](HookPtr policy) {
    return count_ops(*vjp_program(*checkpointed(policy), {true, true, true}), "dot_general");
  };
  std::size_t without = count_ops(*vjp_program(*plain(), {true, true, true}), "dot_general");
  EXPECT_EQ(without, 6u);
  EXPECT_EQ(dots(nullptr), without + 2);
  EXPECT_EQ(dots(dots_saveable()), without);
  EXPECT_EQ(dots(save_only_these_names({"first"})), without + 1);
}

TEST(Remat, BarriersKeepTheRecomputation) {
  ProgramPtr v = vjp_program(*checkpointed(), {true, true, true});
  EXPECT_EQ(count_ops(*v, "optimization_barrier"), 3u);
  EXPECT_EQ(count_ops(*vjp_program(*plain(), {true, true, true}), "optimization_barrier"), 0u);
}

TEST(Remat, NestsAndMaps) {
  std::mt19937 rng(4);
  ProgramPtr inner = checkpointed();
  ProgramPtr p = trace(kTypes, [&](Builder& b, const Values& in) {
    Values h = ops::remat(b, inner, in);
    Values again{bend(h[0]), in[1], in[2]};
    return ops::remat(b, inner, again);
  });
  ProgramPtr outer =
      trace(kTypes, [&](Builder& b, const Values& in) { return ops::remat(b, p, in); });
  check_to_second_order(outer, random_inputs(rng, *outer));
  check_vmap(outer, {true, false, false}, 3);
  check_vmap(grad_program(outer), {true, false, true}, 3);
}

TEST(Remat, OfAScanBodyAndAroundAScan) {
  std::mt19937 rng(5);
  auto body = trace({vec(2), vec(2), vec(2)}, [](Builder&, const Values& in) {
    Value c = ops::add(ops::mul(bend(in[1]), bend(in[0])), in[2]);
    return Values{c, ops::mul(bend(c), in[2])};
  });
  auto kept = trace({vec(2), vec(2), vec(2)},
                    [&](Builder& b, const Values& in) { return ops::remat(b, body, in); });
  std::vector<Type> types{vec(2), vec(2), Type(f64, {3, 2})};
  auto loop = [&](const ProgramPtr& step) {
    return trace(types, [&](Builder& b, const Values& in) {
      std::span<const Value> all(in);
      return ops::scan(step, all.subspan(0, 1), all.subspan(1, 1), all.subspan(2, 1), 3, false, b);
    });
  };
  ProgramPtr reference = loop(body), inside = loop(kept);
  ProgramPtr around =
      trace(types, [&](Builder& b, const Values& in) { return ops::remat(b, reference, in); });
  auto at = random_inputs(rng, *reference);
  for (const ProgramPtr& p : {inside, around}) {
    EXPECT_EQ(run(grad_program(p), at), run(grad_program(reference), at));
    check_to_second_order(p, at);
  }
  // Each step inside keeps its carry; w and x are already available.
  Linearized lin = linearize_program(*inside, {true, true, true});
  EXPECT_EQ(lin.residuals, 3u);
  EXPECT_EQ(linearize_program(*around, {true, true, true}).residuals, 3u);
}

}  // namespace
}  // namespace tessera::testing
