// Sorts of which only the first or last elements are read.
#include "transform/helpers.h"
#include "transform/simplify.h"

namespace tessera::testing {
namespace {

Value cut(Value x, std::int64_t from, std::int64_t to, int d = 0) {
  Ints begin(x.shape().size(), 0), end = x.shape().to_vector();
  begin[static_cast<std::size_t>(d)] = from;
  end[static_cast<std::size_t>(d)] = to;
  return ops::slice(x, begin, end, Ints(begin.size(), 1));
}

// Sorts 64 numbers, or rows of them, with their positions, and returns the results that `read`
// takes from the sort.
ProgramPtr sorted(const std::function<Values(const Values&)>& read, Shape shape = {64}) {
  const int d = shape.rank() - 1;
  return trace({Type(f64, shape)}, [&](Builder& b, const Values& in) {
    return read(ops::sort(Values{in[0], ops::iota(b, i32, shape, d)}, d));
  });
}

// How many of the sort's elements are left after simplification: negative if they are the last
// ones, 0 if all are left. Checks that the results are unchanged.
std::int64_t left_of(const ProgramPtr& p) {
  const ProgramPtr q = simplify(p);
  verify(*q, "ends");
  Doubles numbers;
  for (std::int64_t i = 0; i < p->types[p->inputs[0]].shape.count(); ++i)
    numbers.push_back(static_cast<double>(i * 37 % 64 / 2));
  EXPECT_EQ(run(*q, {numbers}), run(*p, {numbers}));
  for (const Equation& e : q->equations)
    if (e.op->name == "sort_ends") return e.attrs.i("count") * (e.attrs.flag("last") ? -1 : 1);
  return 0;
}

TEST(Ends, OfWhichTheFirstOrTheLastAreRead) {
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[0], 0, 4)}; })), 4);
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[1], 60, 64)}; })), -4);
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[1], 2, 3)}; })), 3);
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[1], 62, 63)}; })), -2);
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[1], 5, 5)}; })), 0);
  EXPECT_EQ(left_of(sorted([](const Values& s) {
              return Values{cut(s[0], 0, 1), cut(s[1], 1, 3)};
            })),
            3);
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[0], 1, 3, 1)}; }, {3, 64})),
            3);
}

TEST(Ends, OfWhichMoreIsRead) {
  EXPECT_EQ(left_of(sorted([](const Values& s) { return s; })), 0);
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[0], 0, 5)}; })), 0);
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[0], 0, 1), s[1]}; })), 0);
  EXPECT_EQ(left_of(sorted([](const Values& s) {
              return Values{cut(s[0], 0, 1), ops::neg(s[0])};
            })),
            0);
  EXPECT_EQ(left_of(sorted([](const Values& s) {
              return Values{cut(s[0], 0, 1), cut(s[0], 63, 64)};
            })),
            0);
  // All elements of some rows are read.
  EXPECT_EQ(left_of(sorted([](const Values& s) { return Values{cut(s[0], 0, 1, 0)}; }, {64, 3})),
            0);
}

}  // namespace
}  // namespace tessera::testing
