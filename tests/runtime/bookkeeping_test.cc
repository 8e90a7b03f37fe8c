// The memory in which a process keeps a program does not grow with the devices of other processes.
#include "../specs.h"
#include "programs.h"

#include "codegen/tape/planner.h"
#include "transform/simplify.h"

#include <cstddef>
#include <cstdint>

namespace ts = tessera;
namespace ops = tessera::ops;
namespace tape = tessera::tape;
using namespace rt;

namespace {

std::size_t bytes(const std::optional<tape::Progressions>& p) { return p ? p->bytes() : 0; }

// The size of the data that a tape and its bodies keep for each device, instance or group. Data
// kept for each process (tape::Between, Collective::makers) does grow, and is left out.
std::size_t kept(const tape::Tape& tape) {
  std::size_t sum = static_cast<std::size_t>(tape.table) * sizeof(void*) + tape.constants.size();
  if (tape.here)
    for (const auto& [_, own] : *tape.here) sum += own.size() * sizeof(own[0]);
  for (const tape::Slot& s : tape.slots)
    sum += bytes(s.stored) + s.computed.size() * sizeof(s.computed[0]);
  for (const tape::Argument& a : tape.arguments) sum += a.source.size() * sizeof(a.source[0]);
  for (const tape::Phase& phase : tape.phases)
    for (const tape::Step& step : phase.steps) {
      if (step.is_collective()) {
        const tape::Collective& c = step.collective();
        sum += c.source.bytes() + bytes(c.owner) + c.number.bytes();
        sum += c.own.size() * sizeof(c.own[0]) + c.place.size() * sizeof(c.place[0]);
        for (const auto& group : c.groups) sum += group.size() * sizeof(group[0]);
      }
      if (const tape::ControlStep* control = step.control())
        for (const auto& body : control->bodies) sum += kept(*body);
    }
  return sum;
}

// The size as the second process plans the program, if each process has four devices.
std::size_t kept(const ts::ProgramPtr& p, int processes) {
  tape::TapeOptions options;
  options.together = {processes, 1, 4};
  const auto tape = tape::make_tape(*ts::simplify(p), options);
  EXPECT_TRUE(tape->here);
  return kept(*tape);
}

// Makes the program for a mesh of that many devices, four for each process.
using Over = ts::ProgramPtr (*)(std::int64_t devices);
void expect_constant(Over program) {
  const std::size_t few = kept(program(16), 4);
  EXPECT_GT(few, 0u);
  EXPECT_EQ(kept(program(64), 16), few);
  EXPECT_EQ(kept(program(1024), 256), few);
}
ts::ProgramPtr mapped(std::int64_t n, ts::Strings out, const Body& f) {
  return Sharded({{"i"}, {n}}, {ts::Type(ts::f32, {n, 8})}, {"i"}, std::move(out), f).whole();
}

}  // namespace

TEST(Bookkeeping, OfWhatEachDeviceDoesForItself) {
  expect_constant([](std::int64_t n) {
    return mapped(n, {"i"},
                  [](ts::Builder&, ts::Values v) { return ts::Values{ops::add(v[0], v[0])}; });
  });
}
TEST(Bookkeeping, OfSums) {
  expect_constant([](std::int64_t n) {
    return mapped(n, {"", "i"}, [n](ts::Builder&, ts::Values v) {
      const ts::Value sum = ops::psum(ops::neg(v[0]), {"i"}, n);
      return ts::Values{sum, ops::mul(sum, v[0])};
    });
  });
}
TEST(Bookkeeping, OfGathersAndNeighbours) {
  expect_constant([](std::int64_t n) {
    return mapped(n, {"i"}, [n](ts::Builder&, ts::Values v) {
      ts::IntLists ring;
      for (std::int64_t d = 0; d < n; ++d) ring.push_back({d, (d + 1) % n});
      const ts::Value all = ops::all_gather(ops::neg(v[0]), {"i"}, n, 0, true, {});
      return ts::Values{ops::add(ops::ppermute(ops::exp(v[0]), {"i"}, n, ring),
                                 ops::reshape(ops::reduce_sum(all, {0}), {1, 8}))};
    });
  });
}
TEST(Bookkeeping, OfDevicesNumbers) {
  expect_constant([](std::int64_t n) {
    return mapped(n, {"i"}, [n](ts::Builder& b, ts::Values v) {
      const ts::Value i = ops::convert(ops::axis_index(b, {"i"}, n), ts::f32);
      return ts::Values{ops::mul(v[0], ops::broadcast_in_dim(i, v[0].type().shape, {}))};
    });
  });
}
TEST(Bookkeeping, OfLoops) {
  expect_constant([](std::int64_t n) {
    return mapped(n, {"i"}, [n](ts::Builder& b, ts::Values v) {
      const auto body = program({v[0].type()}, [n](ts::Builder&, ts::Values u) {
        return ts::Values{ops::sub(u[0], ops::psum(u[0], {"i"}, n))};
      });
      return ops::scan(body, {}, v, {}, 3, false, b);
    });
  });
}
// A mesh of two axes, with collectives along either one and along both.
TEST(Bookkeeping, OverTwoAxes) {
  expect_constant([](std::int64_t n) {
    return Sharded({{"x", "y"}, {n / 2, 2}}, {ts::Type(ts::f32, {n, 8})}, {"x,y"},
                   {"x", "x,y", "y"},
                   [n](ts::Builder&, ts::Values v) {
                     const ts::Value u = ops::neg(v[0]);
                     return ts::Values{ops::psum(u, {"y"}, 2), ops::psum(u, {"x", "y"}, n),
                                       ops::psum(ops::exp(u), {"x"}, n / 2)};
                   })
        .whole();
  });
}
