// The bytes that devices receive, counted while compiled programs run: the table of
// src/spmd/known_cases.md in numbers. expect_right (partition_check.h) compares all other programs
// with their plans.
#include "only_cpu.h"
#include "ops/movement/movement.h"
#include "spmd/partition_check.h"

using namespace partitioning;
using propagation::f32_of;
using propagation::matmul;

namespace {

const MeshShape kTwo{{"x"}, {2}}, kFour{{"x"}, {4}}, kEight{{"x"}, {8}}, kGrid{{"x", "y"}, {2, 2}};

void expect_received(const Case& c, const Partitioned& p, double bytes,
                     const std::vector<HostArray>& in) {
  enough_devices();
  MeasuredWork work;
  tessera::testing::run_compiled(p.program, in, &work);
  // A process that has none of the devices counts nothing.
  EXPECT_EQ(work.moved_bytes, is_here(c.shape) ? bytes : 0) << to_string(*p.program);
}
void expect_received(const Case& c, const Partitioned& p, double bytes) {
  expect_received(c, p, bytes, drawn_inputs(*c.program));
}

Value sliced(Value x, std::int64_t start, std::int64_t limit, std::int64_t stride = 1) {
  return ops::slice(x, {start}, {limit}, {stride});
}
Value squares(Value x) { return ops::reduce_sum(ops::mul(x, x), {0}); }

}  // namespace

TEST(ReceivedBytes, WhereAValueIsToLieElsewhere) {
  NEEDS_CPU(schedules);
  const auto moved = [](const Shape& shape, const char* from, const char* to, double bytes) {
    SCOPED_TRACE(std::string(from) + " to " + to);
    Case c(kGrid);
    const Partitioned p = c.run({ops::neg(c.input(shape, from))}, {to});
    expect_received(c, p, bytes);
  };
  moved({8, 8}, "x", "y", 128);
  moved({8, 8}, "x,y", "x;y", 32);
  moved({8, 8, 8}, ";x,y", "y;;x", 384);
  moved({4, 8, 8}, ";x;y", ";;x,y", 128 + 192);
  moved({8, 8}, "x", "", 128);
  moved({8, 8}, "", "x", 0);
}

TEST(ReceivedBytes, OfProducts) {
  NEEDS_CPU(schedules);
  const auto moved = [](const char* left, const char* right, const char* out, double bytes) {
    SCOPED_TRACE(std::string(left) + " times " + right + " to " + out);
    Case c(kTwo);
    const Value a = c.input({8, 16}, left), w = c.input({16, 8}, right);
    const Partitioned p = c.run({matmul(a, w)}, {out});
    expect_received(c, p, bytes);
  };
  moved(";x", "x", "", 256);
  moved(";x", "x", "x", 128);
  moved("x", ";x", "x", 256);
  moved(";x", "", "", 256);
  moved("x", "", "x", 0);
}

TEST(ReceivedBytes, OfUnevenParts) {
  NEEDS_CPU(schedules);
  const auto moved = [](std::int64_t n, double bytes, const std::function<Value(Value)>& f) {
    Case c(kFour);
    const Value x = c.constrain(c.input({n}, ""), "x");
    const Partitioned p = c.run({squares(c.constrain(f(x), "x"))}, {""});
    expect_received(c, p, bytes);
  };
  // A sum of one float over 4.
  constexpr double sum = 6;
  moved(7, sum, [](Value x) { return x; });
  moved(3, sum, [](Value x) { return x; });
  moved(16, sum + 4, [](Value x) { return sliced(x, 1, 16); });
  moved(16, sum + 16, [](Value x) { return sliced(x, 0, 16, 3); });
  moved(16, sum + 12 + 4, [](Value x) { return sliced(x, 11, 16); });
  moved(12, sum + 12 + 4 + 8, [](Value x) {
    return ops::concatenate(Values{sliced(x, 11, 12), x, sliced(x, 0, 1)}, 0);
  });
}

// Elements with their positions, except in the last permutation, because nothing reads the
// positions.
TEST(ReceivedBytes, OfASort) {
  NEEDS_CPU(schedules);
  Case c(kEight);
  const Partitioned p = c.run({ops::sort(Values{c.input({8192}, "x")}, 0)[0]}, {"x"});
  expect_received(c, p, 4 * 3584 + 3 * 2048);
}

TEST(ReceivedBytes, OfBoxesAtData) {
  NEEDS_CPU(schedules);
  for (std::int64_t size : {1, 3}) {
    Case c(kFour);
    Value x = c.input({8}, "x"), at = c.input(Type(DType::int32, {}), "");
    const Partitioned p = c.run({ops::dynamic_slice(x, Values{at}, {size})}, {""});
    expect_received(c, p, static_cast<double>(size) * 4 * 2 * 3 / 4);
  }
}

// A partial sum in a loop is reduced once after it; a carry that the body wants with another
// sharding is resharded there and back in each iteration that runs.
TEST(ReceivedBytes, OfLoops) {
  NEEDS_CPU(schedules);
  {
    Case c(kTwo);
    Value xs = c.input({4, 6, 16}, ";x"), start = c.input({16}, "");
    const ProgramPtr body = propagation::body_of({{16}, {6, 16}}, [](Builder&, Values in) {
      return Values{ops::add(in[0], ops::reduce_sum(in[1], {0}))};
    });
    const Partitioned p =
        c.run(ops::scan(body, Values{}, Values{start}, Values{xs}, 4, false, c.b), {""});
    expect_received(c, p, 64);
  }
  for (std::int32_t turns : {0, 1, 3}) {
    Case c(kGrid);
    Value x = c.input({8, 4}, "x"), n = c.input(Type(DType::int32, {}), "");
    const Value y = c.repeated(x, n, [&](Value v) {
      v = c.constrain(v, "x");
      return c.constrain(ops::add(v, v), "y");
    });
    const Partitioned p = c.run({y}, {"x"});
    std::vector<HostArray> numbers = drawn_inputs(*c.program);
    *numbers[1].data<std::int32_t>() = turns;
    expect_received(c, p, turns * 2 * 64, numbers);
  }
}

// The bytes of the branch that is taken: one gathers, the other does not.
TEST(ReceivedBytes, OfBranches) {
  NEEDS_CPU(schedules);
  for (std::int32_t taken : {0, 1}) {
    Case c(kTwo);
    Value x = c.input({8, 4}, "x"), which = c.input(Type(DType::int32, {}), "");
    const ProgramPtr stays =
        propagation::body_of({{8, 4}}, [](Builder&, Values in) { return Values{ops::neg(in[0])}; });
    const ProgramPtr turns = propagation::body_of({{8, 4}}, [&](Builder&, Values in) {
      return Values{ops::sharding_constraint(
          ops::neg(ops::sharding_constraint(in[0], c.ref(), spec(";x"), {})), c.ref(), spec("x"),
          {})};
    });
    const Partitioned p = c.run(ops::cond(which, {stays, turns}, Values{x}), {"x"});
    std::vector<HostArray> in = drawn_inputs(*c.program);
    *in[1].data<std::int32_t>() = taken;
    // Half of a shard of 64 B, there and back.
    expect_received(c, p, taken * 2 * 32, in);
  }
}
