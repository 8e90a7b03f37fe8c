// Derivatives of loops that read and write rows of a large carry agree with those of the unrolled
// loop, and do not touch the whole array in each iteration.
#include "only_cpu.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

namespace ts = tessera;
using ts::Array;

namespace {

constexpr int kTurns = 5;

// Integers, so that every order of summation gives the same result.
Array whole(const ts::Shape& shape, int seed) {
  Array n = ts::arange(shape.count()) * 7 + seed;
  return ts::reshape((n % 11 - 5).astype(ts::f32), shape);
}

bool same(Array a, Array b) { return a.to_vector<float>() == b.to_vector<float>(); }

// The same iterations as a loop and unrolled.
template <class Turn, class State>
State turns(bool loop, Turn turn, State s) {
  if (loop) return ts::fori_loop(0, kTurns, turn, s);
  for (int i = 0; i < kTurns; ++i) s = turn(ts::array(i), s);
  return s;
}

// `f(loop, carry, row)` returns a scalar. Compares the gradients of the loop with those of the
// unrolled iterations, and returns the tape of the loop's gradient.
template <class F>
std::string check(F f) {
  Array carry = whole({64, 32}, 1), row = whole({32}, 2);
  auto in_loop = ts::jit(ts::grad<0, 1>([=](Array c, Array r) { return f(true, c, r); }));
  auto out = ts::grad<0, 1>([=](Array c, Array r) { return f(false, c, r); });
  auto [c1, r1] = in_loop(carry, row);
  auto [c2, r2] = out(carry, row);
  EXPECT_TRUE(same(c1, c2));
  EXPECT_TRUE(same(r1, r2));
  return in_loop.lower(carry, row).schedule();
}

}  // namespace

TEST(LoopUpdates, GradientsOfWrites) {
  NEEDS_CPU(schedules);
  std::string tape = check([](bool loop, Array c, Array r) {
    auto turn = [=](Array i, Array c) { return c.at(i * 2).set(r * 3); };
    return ts::sum(turns(loop, turn, c) * whole({64, 32}, 3));
  });
  EXPECT_NE(tape.find("in place"), tape.npos) << tape;
}
TEST(LoopUpdates, GradientsOfWritesOfWhatWasRead) {
  NEEDS_CPU(schedules);
  std::string tape = check([](bool loop, Array c, Array r) {
    auto turn = [=](Array i, Array c) { return c.at(i + 1).set(c[i] * 2 + c[i + 1] + r); };
    return ts::sum(turns(loop, turn, c) * whole({64, 32}, 3));
  });
  EXPECT_NE(tape.find("in place"), tape.npos) << tape;
}
TEST(LoopUpdates, GradientsOfReads) {
  NEEDS_CPU(schedules);
  std::string tape = check([](bool loop, Array c, Array r) {
    auto turn = [=](Array i, Array s) { return s * 2 + c[i] * r + c[i + 3]; };
    return ts::sum(turns(loop, turn, r));
  });
  EXPECT_NE(tape.find("in place"), tape.npos) << tape;
}
TEST(LoopUpdates, GradientsOfReadsByHand) {
  Array carry = whole({64, 32}, 1), row = whole({32}, 2);
  auto f = [](Array c, Array r) {
    auto turn = [=](Array i, Array s) { return s * 2 + c[i] * r + c[i + 3]; };
    return ts::sum(ts::fori_loop(0, kTurns, turn, r));
  };
  std::vector<float> r = row.to_vector<float>(), want(64 * 32);
  for (std::size_t t = 0; t < kTurns; ++t)
    for (std::size_t k = 0; k < 32; ++k) {
      const auto weight = static_cast<float>(1 << (kTurns - 1 - t));
      want[t * 32 + k] += weight * r[k];
      want[(t + 3) * 32 + k] += weight;
    }
  EXPECT_EQ(ts::grad(f)(carry, row).to_vector<float>(), want);
}
TEST(LoopUpdates, GradientsOfSums) {
  std::string tape = check([](bool loop, Array c, Array r) {
    auto turn = [=](Array i, Array c) { return c.at(i).add(r * c[i + 7]); };
    return ts::sum(turns(loop, turn, c) * whole({64, 32}, 3));
  });
  EXPECT_NE(tape.find("scatter_add"), tape.npos) << tape;
}
TEST(LoopUpdates, GradientsOfSeveralRows) {
  // Two windows may be at the same position: the last one counts.
  check([](bool loop, Array c, Array r) {
    auto turn = [=](Array i, Array c) {
      Array both = ts::stack({i, i * 3 % 5});
      return c.at(both).set(ts::stack({r, c[i] + r}));
    };
    return ts::sum(turns(loop, turn, c) * whole({64, 32}, 3));
  });
}
TEST(LoopUpdates, GradientsOnDevices) {
  NEEDS_CPU(schedules);
  struct Devices {
    int before = ts::device_count();
    Devices() { ts::set_device_count(3); }
    ~Devices() { ts::set_device_count(before); }
  } devices;
  Array carry = whole({3, 64, 32}, 1), row = ts::sign(whole({3, 32}, 2));
  auto loss = [](bool loop, Array c, Array r) {
    auto turn = [=](Array i, Array c) { return c.at(i + 1).set(c[i] + ts::psum(r * c[i], "i")); };
    return ts::sum(turns(loop, turn, c) * whole({64, 32}, 3));
  };
  auto mapped = [&](bool loop) {
    return ts::pmap(ts::grad<0, 1>([=](Array c, Array r) { return loss(loop, c, r); }),
                    {.axis_name = "i"})(carry, row);
  };
  auto [c1, r1] = mapped(true);
  auto [c2, r2] = mapped(false);
  EXPECT_TRUE(same(c1, c2));
  EXPECT_TRUE(same(r1, r2));
}
