// Blocks that are sent along an axis by an affine rule: worked vectors, types, and the transpose by
// inner products.
#include "spmd/region/uniformity.h"
#include "spmd/spmd_check.h"
#include "transform/autodiff.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

using Floats = std::vector<float>;

ProgramPtr sent(std::int64_t size, std::int64_t step, std::int64_t offset, std::int64_t every = 1) {
  Type t(f32, {1});
  t.varying = {"i"};
  return program_of({t}, [&](Builder&, const Values& in) {
    return Values{ops::ppermute_affine(in[0], {"i"}, size, step, offset, every)};
  });
}
Floats result(const ProgramPtr& p, Floats x) {
  const auto n = static_cast<std::int64_t>(x.size());
  return values<float>(on_devices(*p, {{"i"}, {n}}, {floats({n, 1}, std::move(x))})[0]);
}

}  // namespace

TEST(PpermuteAffine, ShiftsMirrorsAndStretches) {
  EXPECT_EQ(result(sent(4, 1, -1), {1, 2, 3, 4}), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(result(sent(4, 1, 2), {1, 2, 3, 4}), (Floats{3, 4, 0, 0}));
  EXPECT_EQ(result(sent(4, -1, 3), {1, 2, 3, 4}), (Floats{4, 3, 2, 1}));
  EXPECT_EQ(result(sent(4, 1, 2, 2), {1, 2, 3, 4}), (Floats{2, 2, 3, 3}));
  EXPECT_EQ(result(sent(4, 2, 0), {1, 2, 3, 4}), (Floats{1, 3, 0, 0}));
  EXPECT_EQ(result(sent(4, 3, -2, 4), {1, 2, 3, 4}), (Floats{0, 1, 2, 2}));
}

TEST(PpermuteAffine, VariesAlongItsAxes) {
  const ProgramPtr p = sent(4, 1, -1);
  EXPECT_EQ(p->type(p->outputs[0]).varying, AxisSet{"i"});
  EXPECT_EQ(spmd::output_uniformity(*p, {{}})[0], AxisSet{"i"});
  EXPECT_THROW(sent(4, 0, 1), InternalError);
}

// If device p receives the x of q, the transpose sends q the cotangent of p, and adds up.
TEST(PpermuteAffine, TransposeSendsBackAndAddsUp) {
  for (std::int64_t n : {2, 3, 5})
    for (std::int64_t step : {-3, -2, -1, 1, 2, 3})
      for (std::int64_t every : {1, 2, 3, 5})
        for (std::int64_t offset = -7; offset <= 12; ++offset) {
          const ProgramPtr p = sent(n, step, offset, every);
          Floats ct, expected(static_cast<std::size_t>(n));
          const auto& eqn = p->equations[0];
          const std::vector<std::int64_t> source = eqn.op->sources(eqn.attrs);
          for (std::int64_t d = 0; d < n; ++d) {
            ct.push_back(static_cast<float>(1 << d));
            if (const std::int64_t q = source[static_cast<std::size_t>(d)]; q >= 0)
              expected[static_cast<std::size_t>(q)] += ct.back();
          }
          EXPECT_EQ(result(transpose_program(*p, {true}, {true}), ct), expected)
              << n << ": floor((" << step << " p + " << offset << ") / " << every << ")";
        }
}

TEST(PpermuteAffine, UnderVmapOverAnotherDimension) {
  const ProgramPtr q = mapped(*sent(2, 1, -1), 2, "j");
  EXPECT_EQ(values<float>(on_devices(*q, {{"i"}, {2}}, {floats({2, 2, 1}, {1, 2, 3, 4})})[0]),
            (Floats{0, 0, 1, 2}));
  EXPECT_THROW(mapped(*sent(2, 1, -1), 2, "i"), InternalError);
}
