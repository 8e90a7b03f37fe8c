// Checks how axes propagate from some values of an equation to the others, by both strategies.
#include "spmd/propagate/growth.h"
#include "ops/op_check.h"
#include "spmd/propagation_check.h"

using namespace propagation;

namespace {

const AtomMesh mesh({{"x", "y"}, {2, 4}});

// Specs of operands, then of results, before propagation; "!" in front of one closes it.
struct Asked {
  std::string op;
  std::vector<Shape> shapes;
  Attrs attrs;
  std::vector<std::string> before;
};

std::vector<std::string> grown(const Asked& q, Strategy strategy, int rung = 5) {
  const Op& op = Registry::get().at(q.op);
  std::vector<Type> in;
  std::vector<Shape> outs;
  for (const Shape& s : q.shapes)  // scalars are start positions
    in.push_back(s.empty() ? Type(DType::int32, s) : f32_of(s));
  const std::vector<Type> out = op.infer({op, in, q.attrs, {}});
  for (const Type& t : out) outs.push_back(t.shape);
  const CutRule rule(op.sharding({in, out, q.attrs}), q.shapes, outs);
  std::vector<Draft> drafts;
  std::vector<const Draft*> pointers;
  for (std::size_t t = 0; t < q.before.size(); ++t) {
    const bool closed = q.before[t].starts_with("!");
    const int rank = static_cast<int>(rule.tensors()[t].dims.size());
    drafts.push_back({mesh.placement(spec(q.before[t].substr(closed)), rank),
                      closed ? ~std::uint64_t{0} : 0,
                      {}});
  }
  for (const Draft& d : drafts) pointers.push_back(&d);
  Growth g(mesh);
  g.apply(rule, rule.mode(rung, true), strategy, pointers);
  for (const Growth::Grown& a : g.after()) drafts[a.tensor] = a.draft;
  std::vector<std::string> text;
  for (const Draft& d : drafts) text.push_back(mesh.to_string(d.placement));
  return text;
}

using Texts = std::vector<std::string>;
const Shape square{16, 16};

Asked add(std::vector<std::string> before) { return {"add", {square, square}, {}, before}; }
Asked dot(std::vector<std::string> before, Shape a = square, Shape b = square) {
  return {"dot_general",
          {a, b},
          {{"lhs_contracting", Ints{1}},
           {"rhs_contracting", Ints{0}},
           {"lhs_batch", Ints{}},
           {"rhs_batch", Ints{}},
           {"dtype", DType::float32}},
          before};
}

TEST(Growth, AllGetWhatOneHas) {
  for (Strategy s : {Strategy::basic, Strategy::aggressive})
    EXPECT_EQ(grown(add({"x;y", "", ""}), s), (Texts(3, "P('x', 'y')")));
}

TEST(Growth, TheLongestAgreedBeginningIsTaken) {
  EXPECT_EQ(grown(add({"x", "x,y", ""}), Strategy::basic), (Texts(3, "P(('x', 'y'))")));
  EXPECT_EQ(grown(add({"y:(1)2", "y", ""}), Strategy::basic), (Texts(3, "P('y')")));
  EXPECT_EQ(grown(add({"x,y", "x,y:(2)2", ""}), Strategy::basic),
            (Texts{"P(('x', 'y'))", "P(('x', 'y:(2)2'))", "P('x')"}));
  // Neither axis is preferred.
  for (Strategy s : {Strategy::basic, Strategy::aggressive})
    EXPECT_EQ(grown(add({"x", "y", ""}), s), (Texts{"P('x')", "P('y')", "P()"}));
}

TEST(Growth, BasicStopsWhereOneIsClosed) {
  EXPECT_EQ(grown(add({"x", "!", ""}), Strategy::basic), (Texts{"P('x')", "P()", "P()"}));
  EXPECT_EQ(grown(add({"x", "!", ""}), Strategy::aggressive), (Texts{"P('x')", "P()", "P('x')"}));
}

TEST(Growth, AggressiveKeepsOperandsToTheirResults) {
  EXPECT_EQ(grown(add({"x", "", "!"}), Strategy::aggressive), (Texts{"P('x')", "P()", "P()"}));
}

TEST(Growth, BasicStopsWhereAnotherFactorHasTheAxis) {
  const Texts same{"P('x')", "P(none, 'x')", "P()"};
  EXPECT_EQ(grown(dot({"x", ";x", ""}), Strategy::basic), same);
  // If both operands are equally large, the first one decides.
  EXPECT_EQ(grown(dot({"x", ";x", ""}), Strategy::aggressive),
            (Texts{"P('x')", "P(none, 'x')", "P('x')"}));
  EXPECT_EQ(grown(dot({"x", ";x", ""}, {4, 16}, {16, 16}), Strategy::aggressive),
            (Texts{"P('x')", "P(none, 'x')", "P(none, 'x')"}));
}

TEST(Growth, DirectionsFollowTheRung) {
  EXPECT_EQ(grown(dot({"x;y", ";", ""}), Strategy::basic, 2), (Texts{"P('x', 'y')", "P()", "P()"}));
  EXPECT_EQ(grown(dot({"x;y", ";", ""}), Strategy::basic, 3),
            (Texts{"P('x', 'y')", "P()", "P('x')"}));
  EXPECT_EQ(grown(dot({"x;y", ";", ""}), Strategy::basic, 4),
            (Texts{"P('x', 'y')", "P('y')", "P('x')"}));
  Asked wide{"broadcast_in_dim", {{16}}, {{"shape", Ints{8, 16}}, {"dims", Ints{1}}}, {"y", ""}};
  EXPECT_EQ(grown(wide, Strategy::basic, 4), (Texts{"P('y')", "P()"}));
  EXPECT_EQ(grown(wide, Strategy::basic, 5), (Texts{"P('y')", "P(none, 'y')"}));
  wide.before = {"", "x;y"};
  EXPECT_EQ(grown(wide, Strategy::basic, 2), (Texts{"P()", "P('x', 'y')"}));
  EXPECT_EQ(grown(wide, Strategy::basic, 3), (Texts{"P('y')", "P('x', 'y')"}));
}

TEST(Growth, MarkedFactorsWaitForTheFourthRung) {
  Asked sum{"reduce_sum", {{8, 16}}, {{"axes", Ints{1}}}, {"", "x"}};
  EXPECT_EQ(grown(sum, Strategy::basic, 2), (Texts{"P()", "P('x')"}));
  EXPECT_EQ(grown(sum, Strategy::basic, 3), (Texts{"P('x')", "P('x')"}));
  Asked run{"cumsum", {{8, 16}}, {{"axis", std::int64_t{1}}, {"reverse", false}}, {"x;y", ""}};
  EXPECT_EQ(grown(run, Strategy::basic, 3), (Texts{"P('x', 'y')", "P('x')"}));
  EXPECT_EQ(grown(run, Strategy::basic, 4), (Texts{"P('x', 'y')", "P('x', 'y')"}));
}

// For slices at positions from data, the sliced array determines the sharding of the slice, and not
// the reverse.
TEST(Growth, SlicesAtDataAreHandedOnForwards) {
  const Texts rows(2, "P('x')");
  auto slice = [](std::vector<std::string> before, int rung) {
    return grown({"dynamic_slice", {{8, 16}, {}, {}}, {{"sizes", Ints{8, 4}}}, before},
                 Strategy::basic, rung);
  };
  EXPECT_EQ(slice({"x", ""}, 2), rows);
  EXPECT_EQ(slice({"", "x"}, 2), (Texts{"P()", "P('x')"}));
  EXPECT_EQ(slice({"", "x"}, 3), rows);
  EXPECT_EQ(slice({";y", ""}, 5), (Texts{"P(none, 'y')", "P()"}));
  auto update = [](std::vector<std::string> before, int rung) {
    return grown({"dynamic_update_slice", {{8, 16}, {8, 4}, {}, {}}, {}, before}, Strategy::basic,
                 rung);
  };
  EXPECT_EQ(update({"x;y", "", ""}, 2), (Texts{"P('x', 'y')", "P()", "P('x', 'y')"}));
  EXPECT_EQ(update({"", "", "x;y"}, 2), (Texts{"P()", "P()", "P('x', 'y')"}));
  EXPECT_EQ(update({"", "", "x;y"}, 3), (Texts{"P('x', 'y')", "P('x')", "P('x', 'y')"}));
}

TEST(Growth, ASliceHasRoomForWhatItHolds) {
  Asked s{
      "slice", {{16}}, {{"start", Ints{1}}, {"limit", Ints{3}}, {"strides", Ints{1}}}, {"x,y", ""}};
  EXPECT_EQ(grown(s, Strategy::basic, 4), (Texts{"P(('x', 'y'))", "P('x')"}));
}

TEST(Growth, AnotherExtentIsCutUnevenlyWhereLittleIsForNothing) {
  const auto sliced = [](std::int64_t limit, const char* asked = "") {
    return grown({"slice",
                  {{64}},
                  {{"start", Ints{0}}, {"limit", Ints{limit}}, {"strides", Ints{1}}},
                  {"y", asked}},
                 Strategy::basic, 4);
  };
  EXPECT_EQ(sliced(63), Texts(2, "P('y')"));
  EXPECT_EQ(sliced(29), Texts(2, "P('y')"));                // 32 places, of which 3 are padding
  EXPECT_EQ(sliced(17), (Texts{"P('y')", "P('y:(1)2')"}));  // half of y: 1 is padding, not 3
  EXPECT_EQ(sliced(3), (Texts{"P('y')", "P()"}));
  EXPECT_EQ(sliced(17, "y"), Texts(2, "P('y')"));
  // If the extents are equal, both are sharded alike.
  EXPECT_EQ(grown({"neg", {{5}}, {}, {"y", ""}}, Strategy::basic, 4), Texts(2, "P('y')"));
}

}  // namespace
