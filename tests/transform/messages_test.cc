// Checks which collectives are combined into one message.
#include "transform/messages.h"

#include "random/shrink.h"
#include "transform/helpers.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tessera::testing {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Items = std::vector<Numbers>;

Items items_of(const Program& p, std::int64_t most = kMessageBytes) {
  const Messages messages(p, [=](const Strings&) { return most; });
  Items all;
  for (std::size_t i = 0; i < messages.count(); ++i)
    all.emplace_back(messages[i].begin(), messages[i].end());
  return all;
}
// The messages of several equations.
Items combined(const Program& p, std::int64_t most = kMessageBytes) {
  Items all = items_of(p, most);
  std::erase_if(all, [](const Numbers& item) { return item.size() == 1; });
  return all;
}
Value summed(Value x, const Strings& axes = {"i"}, const IntLists& groups = {}) {
  return ops::psum(x, axes, 4, groups);
}

// Describes an error in an order of a program's equations, or returns an empty text. Each equation
// must come once, after its operands, and no equation of a message may read a result of the same
// message.
std::string wrong_order(const Program& p, const Items& items, std::int64_t most) {
  std::vector<bool> there(p.types.size()), done(p.equations.size());
  for (Var v : p.inputs) there[v] = true;
  for (const Numbers& item : items) {
    std::int64_t bytes = 0;
    for (std::uint32_t k : item) {
      const Equation& e = p.equations[k];
      if (done[k]) return "equation " + std::to_string(k) + " comes twice";
      done[k] = true;
      for (Var v : e.inputs)
        if (!there[v]) return "equation " + std::to_string(k) + " comes before what it reads";
      if (item.size() > 1) {
        bytes += p.types[e.inputs[0]].bytes();
        if (e.op != p.equations[item[0]].op) return "two operations in one message";
        if (p.types[e.inputs[0]].dtype != p.types[p.equations[item[0]].inputs[0]].dtype)
          return "two dtypes in one message";
      }
    }
    if (bytes > most) return "a message of " + std::to_string(bytes) + " bytes";
    for (std::uint32_t k : item)
      for (Var v : p.equations[k].outputs) there[v] = true;
  }
  return std::count(done.begin(), done.end(), true) == std::ssize(done) ? "" : "one is missing";
}

}  // namespace

TEST(Messages, SumsThatWaitForNothingOfEachOtherAreOne) {
  const ProgramPtr p = trace({vec(3), vec(5)}, [](Builder&, const Values& in) {
    const Value a = summed(in[0]), twice = ops::add(a, a), b = summed(ops::neg(in[1]));
    return Values{twice, b};
  });
  // 0 psum, 1 add, 2 neg, 3 psum
  EXPECT_EQ(items_of(*p), (Items{{2}, {0, 3}, {1}}));
}

TEST(Messages, OneThatNeedsTheOtherGoesBehindIt) {
  const ProgramPtr p = trace(
      {vec(3)}, [](Builder&, const Values& in) { return Values{summed(ops::neg(summed(in[0])))}; });
  EXPECT_EQ(items_of(*p), (Items{{0}, {1}, {2}}));
}

// c could join a, and d could join b, but not both, because c needs b and d needs a.
TEST(Messages, NoTwoMessagesWaitForOneAnother) {
  const ProgramPtr p = trace({vec(3), vec(3)}, [](Builder&, const Values& in) {
    const Value a = summed(in[0]), b = ops::pmax(in[1], {"i"}, 4);
    const Value c = summed(ops::neg(b)), d = ops::pmax(ops::neg(a), {"i"}, 4);
    return Values{c, d};
  });
  const Items all = combined(*p);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].size(), 2u);
  EXPECT_EQ(wrong_order(*p, items_of(*p), kMessageBytes), "");
}

TEST(Messages, OnlyTheSameOperationOverTheSameDevices) {
  const ProgramPtr p = trace(
      {vec(3), vec(3), vec(3), Type(f32, {3}), vec(3), vec(3)}, [](Builder&, const Values& in) {
        return Values{
            summed(in[0]), summed(in[1], {"j"}),       summed(in[2], {"i"}, {{0, 1}, {2, 3}}),
            summed(in[3]), ops::pmax(in[4], {"i"}, 4), ops::all_gather(in[5], {"i"}, 4, 0, true)};
      });
  EXPECT_EQ(combined(*p), Items{});
  // Gathers, each along its own dimension.
  const ProgramPtr gathers =
      trace({Type(f64, {3, 2}), Type(f64, {2, 5})}, [](Builder&, const Values& in) {
        return Values{ops::all_gather(in[0], {"i"}, 4, 0, true),
                      ops::all_gather(in[1], {"i"}, 4, 1, true)};
      });
  EXPECT_EQ(combined(*gathers), (Items{{0, 1}}));
  const ProgramPtr moves = trace({vec(3), vec(3), vec(3)}, [](Builder&, const Values& in) {
    return Values{ops::ppermute_affine(in[0], {"i"}, 4, 1, 1),
                  ops::ppermute_affine(in[1], {"i"}, 4, 1, -1),
                  ops::ppermute_affine(in[2], {"i"}, 4, 1, 1)};
  });
  EXPECT_EQ(combined(*moves), (Items{{0, 2}}));
}

// Of three values of 24 bytes two fit, and the third begins another message.
TEST(Messages, UpToASize) {
  const ProgramPtr p = trace({vec(3), vec(3), vec(3)}, [](Builder&, const Values& in) {
    return Values{summed(in[0]), summed(in[1]), summed(in[2])};
  });
  EXPECT_EQ(combined(*p, 72), (Items{{0, 1, 2}}));
  EXPECT_EQ(combined(*p, 71), (Items{{0, 1}}));
  EXPECT_EQ(combined(*p, 47), Items{});
  EXPECT_EQ(combined(*p, 0), Items{});
}

TEST(Messages, DrawnPrograms) {
  check::check_many(300, 160, [](const walk::Tape& tape) {
    walk::Dice dice(tape);
    const std::int64_t most = 8 * dice.below(12);
    const ProgramPtr p = trace({vec(1), vec(2), vec(3)}, [&](Builder&, const Values& in) {
      Values values = in;
      for (std::int64_t n = dice.below(24); n > 0; --n) {
        const Value x = dice.of(values);
        switch (dice.below(4)) {
          case 0: values.push_back(summed(x)); break;
          case 1: values.push_back(ops::pmax(x, {"i"}, 4)); break;
          case 2: values.push_back(summed(x, {"j"})); break;
          default: {
            const Value y = dice.of(values);
            values.push_back(x.shape() == y.shape() ? ops::add(x, y) : ops::neg(x));
          }
        }
      }
      return values;
    });
    const Items items = items_of(*p, most);
    if (items != items_of(*p, most)) return std::string("another order the second time");
    return wrong_order(*p, items, most);
  });
}

}  // namespace tessera::testing
