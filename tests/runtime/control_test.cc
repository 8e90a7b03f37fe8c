#include "../specs.h"
#include "programs.h"

#include "runtime/buffer.h"

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

const ts::Type kVector(ts::f32, {4});
const ts::Type kScalar(ts::f32, {});
const ts::Type kInt(ts::i32, {});
ts::MeshShape on(std::int64_t n) { return {{"i"}, {n}}; }

void check_alone(const ts::ProgramPtr& p) {
  std::vector<ts::HostArray> in;
  for (std::size_t i = 0; i < p->inputs.size(); ++i)
    in.push_back(counted(p->types[p->inputs[i]], static_cast<int>(i)));
  auto expected = evaluate(*p, in);
  auto got = run(p, in);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(numbers(host(*got[i])), numbers(expected[i])) << i;
}
ts::Value wide(ts::Value scalar, const ts::Shape& shape) {
  return ops::broadcast_in_dim(scalar, shape, {});
}

}  // namespace

class Scans : public testing::TestWithParam<std::pair<int, bool>> {};
TEST_P(Scans, CarriesSwapAndStack) {
  auto [length, reverse] = GetParam();
  // The carry (a, b, c) becomes (b + x, a, c), and a - k is stacked.
  auto body =
      program({kVector, kVector, kVector, kVector, kVector}, [](ts::Builder&, ts::Values v) {
        return ts::Values{ops::add(v[2], v[4]), v[1], v[3], ops::sub(v[1], v[0]), v[4]};
      });
  ts::Shape xs{length, 4};
  check_alone(program({kVector, kVector, kVector, kVector, ts::Type(ts::f32, xs)},
                      [&, length = length, reverse = reverse](ts::Builder& b, ts::Values v) {
                        return ops::scan(body, std::span(v).subspan(0, 1),
                                         std::span(v).subspan(1, 3), std::span(v).subspan(4, 1),
                                         length, reverse, b);
                      }));
}
INSTANTIATE_TEST_SUITE_P(Lengths, Scans,
                         testing::Values(std::pair{0, false}, std::pair{1, false},
                                         std::pair{2, true}, std::pair{5, false},
                                         std::pair{6, true}));

TEST(Control, WhileWithAnyNumberOfTurns) {
  auto cond = program({kInt, kInt, kVector},
                      [](ts::Builder&, ts::Values v) { return ts::Values{ops::lt(v[1], v[0])}; });
  auto body = program({kVector, kInt, kVector}, [](ts::Builder& b, ts::Values v) {
    return ts::Values{ops::add(v[1], ops::convert(ops::scalar(b, ts::i32, 1), ts::i32)),
                      ops::add(v[2], v[0])};
  });
  auto p = program({kInt, kVector, kInt, kVector}, [&](ts::Builder&, ts::Values v) {
    return ops::while_(cond, body, std::span(v).subspan(0, 1), std::span(v).subspan(1, 1),
                       std::span(v).subspan(2, 2));
  });
  for (int turns : {0, 1, 2, 3, 10}) {
    ts::HostArray n(ts::i32, {}), zero(ts::i32, {});
    n.data<std::int32_t>()[0] = turns;
    zero.data<std::int32_t>()[0] = 0;
    std::vector<ts::HostArray> in = {n, counted(kVector, 1), zero, counted(kVector, 2)};
    auto got = run(p, in);
    EXPECT_EQ(host(*got[0]).number(0), turns);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(host(*got[1]).number(i), in[3].number(i) + turns * in[1].number(i));
  }
}
TEST(Control, CondClampsItsIndexAndPassesOperandsThrough) {
  auto neg = program({kVector, kVector}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::neg(v[0]), v[0]};
  });
  auto same = program({kVector, kVector}, [](ts::Builder&, ts::Values v) {
    return ts::Values{v[1], v[1]};
  });
  auto p = program({kInt, kVector, kVector}, [&](ts::Builder&, ts::Values v) {
    return ops::cond(v[0], {neg, same}, std::span(v).subspan(1, 2));
  });
  for (int index : {-3, 0, 1, 7}) {
    ts::HostArray i(ts::i32, {});
    i.data<std::int32_t>()[0] = index;
    std::vector<ts::HostArray> in = {i, counted(kVector, 1), counted(kVector, 2)};
    auto expected = evaluate(*p, in);
    auto got = run(p, in);
    for (int k : {0, 1}) EXPECT_EQ(numbers(host(*got[k])), numbers(expected[k]));
  }
}
TEST(Control, NestedLoops) {
  auto inner = program({kVector, kVector}, [](ts::Builder&, ts::Values v) {
    ts::Value s = ops::add(v[0], v[1]);
    return ts::Values{s, s};
  });
  auto outer = program({kVector, ts::Type(ts::f32, {3, 4})}, [&](ts::Builder& b, ts::Values v) {
    ts::Values r =
        ops::scan(inner, {}, std::span(v).subspan(0, 1), std::span(v).subspan(1, 1), 3, true, b);
    return ts::Values{r[0], ops::reduce_sum(r[1], {0})};
  });
  check_alone(program({kVector, ts::Type(ts::f32, {2, 3, 4})}, [&](ts::Builder& b, ts::Values v) {
    return ops::scan(outer, {}, std::span(v).subspan(0, 1), std::span(v).subspan(1, 1), 2, false,
                     b);
  }));
}

// Control flow on several devices.

class ControlOn : public testing::TestWithParam<int> {
 protected:
  std::int64_t n() const { return GetParam(); }
};
TEST_P(ControlOn, ScansOfDevicesRunByThemselves) {
  auto body = program({kVector, kVector}, [](ts::Builder&, ts::Values v) {
    ts::Value s = ops::add(v[0], v[1]);
    return ts::Values{s, ops::neg(s)};
  });
  Sharded(on(n()), {ts::Type(ts::f32, {n(), 4}), ts::Type(ts::f32, {5, 4})}, {"i", ""}, {"i", ";i"},
          [&](ts::Builder& b, ts::Values v) {
            ts::Values init = {ops::reshape(v[0], {4})}, xs = {v[1]};
            ts::Values r = ops::scan(body, {}, init, xs, 5, false, b);
            return ts::Values{ops::reshape(r[0], {1, 4}), r[1]};
          })
      .check();
}
TEST_P(ControlOn, ScansWithCollectives) {
  // A uniform and a varying carry. The initial value of the uniform one varies.
  auto body = program({kVector, kVector, kVector, kVector}, [&](ts::Builder& b, ts::Values v) {
    ts::Value total = ops::psum(ops::sub(v[2], v[3]), {"i"}, n());
    ts::Value index = wide(ops::convert(ops::axis_index(b, {"i"}, n()), ts::f32), {4});
    return ts::Values{total, ops::add(v[1], index), ops::add(v[1], v[0])};
  });
  Sharded(on(n()), {ts::Type(ts::f32, {n(), 4}), ts::Type(ts::f32, {3, 4})}, {"i", ""},
          {"", "i", ";i"},
          [&](ts::Builder& b, ts::Values v) {
            ts::Value block = ops::reshape(v[0], {4});
            ts::Values consts = {block}, init = {block, ops::neg(block)}, xs = {v[1]};
            ts::Values r = ops::scan(body, consts, init, xs, 3, true, b);
            return ts::Values{r[0], ops::reshape(r[1], {1, 4}), r[2]};
          })
      .check();
}
TEST_P(ControlOn, GatheredAndPlainRowsOfOneValue) {
  // A gathered value can be the memory of the plain one only if its blocks are adjacent. Rows of
  // a stack are not.
  auto body = program({kVector}, [&](ts::Builder&, ts::Values v) {
    ts::Value next = ops::neg(v[0]);
    return ts::Values{next, ops::add(next, v[0]),
                      ops::all_gather(ops::add(next, v[0]), {"i"}, n(), 0, false)};
  });
  Sharded(on(n()), {ts::Type(ts::f32, {4 * n()})}, {"i"}, {"i", ";i", ""},
          [&](ts::Builder& b, ts::Values v) { return ops::scan(body, {}, v, {}, 3, false, b); })
      .check();
}
TEST_P(ControlOn, WhileWithUniformConditionMayCommunicate) {
  auto cond = program({kScalar, kVector}, [](ts::Builder& b, ts::Values v) {
    return ts::Values{ops::lt(v[0], ops::scalar(b, ts::f32, 40))};
  });
  auto body = program({kScalar, kVector}, [&](ts::Builder& b, ts::Values v) {
    ts::Value m = ops::pmax(ops::reduce_max(v[1], {0}), {"i"}, n());
    return ts::Values{ops::max(m, ops::add(v[0], ops::scalar(b, ts::f32, 9))),
                      ops::add(v[1], wide(m, {4}))};
  });
  Sharded(on(n()), {ts::Type(ts::f32, {4 * n()})}, {"i"}, {"", "i"},
          [&](ts::Builder& b, ts::Values v) {
            ts::Values init = {ops::scalar(b, ts::f32, 1), v[0]};
            return ops::while_(cond, body, {}, {}, init);
          })
      .check();
}
TEST_P(ControlOn, DevicesLeaveALoopAtDifferentTimes) {
  auto cond = program({kInt, kScalar}, [&](ts::Builder& b, ts::Values v) {
    return ts::Values{ops::lt(v[0], ops::axis_index(b, {"i"}, n()))};
  });
  auto body = program({kInt, kScalar}, [](ts::Builder& b, ts::Values v) {
    return ts::Values{ops::add(v[0], ops::scalar(b, ts::i32, 1)), ops::add(v[1], v[1])};
  });
  Sharded(on(n()), {ts::Type(ts::f32, {})}, {""}, {"i"}, [&](ts::Builder& b, ts::Values v) {
    ts::Values init = {ops::scalar(b, ts::i32, 0), v[0]};
    return ts::Values{ops::reshape(ops::while_(cond, body, {}, {}, init)[1], {1})};
  }).check();
}
TEST_P(ControlOn, BranchesPerDevice) {
  auto neg =
      program({kVector}, [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; });
  auto plus = program({kVector}, [&](ts::Builder& b, ts::Values v) {
    return ts::Values{
        ops::add(v[0], wide(ops::convert(ops::axis_index(b, {"i"}, n()), ts::f32), {4}))};
  });
  Sharded(on(n()), {ts::Type(ts::f32, {4 * n()})}, {"i"}, {"i"}, [&](ts::Builder& b, ts::Values v) {
    return ops::cond(ops::axis_index(b, {"i"}, n()), {neg, plus}, v);
  }).check();
}
TEST_P(ControlOn, UniformBranchesMayCommunicate) {
  auto sum = program({kVector}, [&](ts::Builder&, ts::Values v) {
    return ts::Values{ops::psum(v[0], {"i"}, n()), v[0]};
  });
  auto max = program({kVector}, [&](ts::Builder&, ts::Values v) {
    return ts::Values{ops::pmax(v[0], {"i"}, n()), ops::neg(v[0])};
  });
  for (int seed : {0, 1})
    Sharded(on(n()), {ts::Type(ts::f32, {4 * n()})}, {"i"}, {"", "i"},
            [&](ts::Builder& b, ts::Values v) {
              ts::Value large =
                  ops::convert(ops::gt(ops::psum(ops::reduce_sum(v[0], {0}), {"i"}, n()),
                                       ops::scalar(b, ts::f32, seed * 1000)),
                               ts::i32);
              return ops::cond(large, {sum, max}, v);
            })
        .check();
}
INSTANTIATE_TEST_SUITE_P(Counts, ControlOn, testing::Values(1, 2, 3, 8));

TEST(Control, RowsOfAMeshDecideForThemselves) {
  // The number of iterations depends on x, and the collective in the body is over y.
  auto cond = program({kInt, kScalar}, [](ts::Builder& b, ts::Values v) {
    return ts::Values{ops::le(v[0], ops::axis_index(b, {"x"}, 2))};
  });
  auto body = program({kInt, kScalar}, [](ts::Builder& b, ts::Values v) {
    return ts::Values{ops::add(v[0], ops::scalar(b, ts::i32, 1)),
                      ops::sub(ops::psum(v[1], {"y"}, 3), v[1])};
  });
  Sharded({{"x", "y"}, {2, 3}}, {ts::Type(ts::f32, {6})}, {"x,y"}, {"x,y"},
          [&](ts::Builder& b, ts::Values v) {
            ts::Values init = {ops::scalar(b, ts::i32, 0), ops::reshape(v[0], {})};
            return ts::Values{ops::reshape(ops::while_(cond, body, {}, {}, init)[1], {1})};
          })
      .check();
}
TEST(Control, DevicesThatDisagreeAroundACollectiveAreAnError) {
  Devices devices(2);
  auto sum = program(
      {kVector}, [](ts::Builder&, ts::Values v) { return ts::Values{ops::psum(v[0], {"i"}, 2)}; });
  auto neg =
      program({kVector}, [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; });
  Sharded s(on(2), {ts::Type(ts::i32, {2}), ts::Type(ts::f32, {8})}, {"i", "i"}, {"i"},
            [&](ts::Builder&, ts::Values v) {
              ts::Values operands = {v[1]};
              return ops::cond(ops::reshape(v[0], {}), {sum, neg}, operands);
            });
  ts::HostArray index(ts::i32, {2});
  for (int second : {0, 1}) {
    index.data<std::int32_t>()[0] = 0;
    index.data<std::int32_t>()[1] = second;
    std::vector<ts::HostArray> in = {index, counted(s.wholes[1])};
    if (second == 0) {
      auto expected = s.oracle(in);
      EXPECT_EQ(numbers(host(*run(s.whole(), in)[0])), numbers(expected[0]));
      continue;
    }
    try {
      run(s.whole(), in);
      FAIL();
    } catch (const ts::CollectiveError& e) {
      EXPECT_STREQ(e.what(),
                   "cond: devices disagree on the branch: device 0 has 0, device 1 has 1\n"
                   "  rule: the body has collectives, in which all devices take part, so all have "
                   "to take the same way\n"
                   "  try: decide on a value that is equal on all devices, such as a psum or pmax "
                   "of the condition");
    }
  }
}
TEST(Control, LoopsAroundShardMaps) {
  Devices devices(4);
  auto inside = program({kVector}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::add(v[0], ops::psum(v[0], {"i"}, 4))};
  });
  auto body = program({ts::Type(ts::f32, {16})}, [&](ts::Builder& b, ts::Values v) {
    return ops::shard_map(b, inside, v, first_devices({{"i"}, {4}}), specs({"i"}), specs({"i"}),
                          false);
  });
  auto p = program({ts::Type(ts::f32, {16})}, [&](ts::Builder& b, ts::Values v) {
    return ops::scan(body, {}, v, {}, 3, false, b);
  });
  auto in = counted(p->types[0]);
  std::vector<double> x = numbers(in);
  for (int t = 0; t < 3; ++t) {
    std::vector<double> y = x;
    for (int d = 0; d < 4; ++d)
      for (int k = 0; k < 4; ++k)
        for (int e = 0; e < 4; ++e)
          y[static_cast<std::size_t>(4 * d + k)] += x[static_cast<std::size_t>(4 * e + k)];
    x = y;
  }
  EXPECT_EQ(numbers(host(*run(p, {in})[0])), x);
}
