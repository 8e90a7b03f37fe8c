// Prints inside traced functions: their texts, number, positions and order.
#include <tessera/tessera.h>

#include "api/check.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace ts = tessera;
using api_test::message;
using api_test::vec;
using ts::Array;
using Position = std::vector<std::pair<std::string, std::int64_t>>;
using Lines = std::vector<std::string>;

namespace {

class DebugPrint : public testing::Test {
 protected:
  DebugPrint() {
    ts::set_device_count(4);
    before_ = ts::debug::set_print_handler([this](const ts::debug::Printed& p) {
      const std::lock_guard lock(mutex_);
      printed_.push_back(p);
    });
  }
  ~DebugPrint() override { ts::debug::set_print_handler(before_); }

  /// Returns the prints since the last call, only those at `position` if one is given.
  std::vector<ts::debug::Printed> printed() {
    ts::effects_barrier();
    const std::lock_guard lock(mutex_);
    return std::exchange(printed_, {});
  }
  Lines texts() {
    Lines lines;
    for (const ts::debug::Printed& p : printed()) lines.push_back(p.text);
    return lines;
  }
  /// Lines such as "i=2: text", sorted if the order of the devices is not fixed.
  Lines with_positions() {
    Lines lines;
    for (const ts::debug::Printed& p : printed()) {
      std::string line;
      for (const auto& [name, at] : p.position) line += name + "=" + std::to_string(at) + " ";
      lines.push_back(line + p.text);
    }
    return lines;
  }
  static Lines sorted(Lines lines) {
    std::sort(lines.begin(), lines.end());
    return lines;
  }

 private:
  std::mutex mutex_;
  std::vector<ts::debug::Printed> printed_;
  ts::debug::PrintHandler before_;
};

struct Layer {
  Array w, b;
};

TEST_F(DebugPrint, SaysValuesAtOnceOutsideOfTracedFunctions) {
  const int line = __LINE__ + 1;
  ts::debug::print("x is {} and n is {}, {} {{}}", vec({1, 2.5, -3}), 3, "text");
  const auto p = printed();
  ASSERT_EQ(p.size(), 1u);
  EXPECT_EQ(p[0].text, "x is [ 1.   2.5 -3. ] and n is 3, text {}");
  EXPECT_EQ(p[0].step, -1);
  EXPECT_EQ(p[0].position, Position{});
  EXPECT_EQ(p[0].line, line);
  EXPECT_TRUE(p[0].file.ends_with("debug_print_test.cc")) << p[0].file;
}

TEST_F(DebugPrint, TakesFormatsForNumbersAndTrees) {
  ts::debug::print("{:.3f}", 0.1);
  ts::debug::print("{:.2f} {:+d}", vec({1, 2.5}), ts::arange(4).reshape({2, 2}));
  ts::debug::print("{}", Layer{vec({1, 2}), Array(3)});
  ts::debug::print("{:.1e}", Layer{vec({1, 2}), Array(0.5)});
  ts::debug::print("{:.0f}", ts::arange(2000.0));
  ts::debug::print("{} {}", Layer{Array(), Array(1)}, Array());
  EXPECT_EQ(texts(), (Lines{"0.100", "[1.00 2.50] [[+0 +1]\n [+2 +3]]", "{w: [1. 2.], b: 3}",
                            "{w: [1.0e+00 2.0e+00], b: 5.0e-01}", "[0 1 2 ... 1997 1998 1999]",
                            "{w: empty, b: 1} empty"}));
}

TEST_F(DebugPrint, RunsAtEachCallThoughNobodyNeedsIt) {
  const auto f = ts::jit([](Array x) {
    const auto scope = ts::named_scope("inner");
    ts::debug::print("double {}", x * 2);
    return x + 1;
  });
  for (int i = 0; i < 3; ++i) f(Array(i)).block_until_ready();
  const auto p = printed();
  ASSERT_EQ(p.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(p[i].text, "double " + std::to_string(2 * i));
    EXPECT_EQ(p[i].step, i);
    EXPECT_EQ(p[i].scope, "inner");
  }
}

TEST_F(DebugPrint, LinesComeInTheProgramsOrder) {
  const auto f = ts::jit([](Array x) {
    Array y = ts::sum(ts::sin(ts::matmul(x, x)));
    ts::debug::print("first {:.0f}", ts::abs(y * 0));
    ts::debug::print("second {}", 1);
    const Array z = ts::fori_loop(
        0, 3,
        [](Array i, Array c) {
          ts::debug::print("turn {}", i);
          return c + 1;
        },
        y);
    ts::debug::print("third {:.0f}", x(0, 0));
    for (int i = 0; i < 3; ++i) ts::debug::print("more {}", i);
    return z + y;
  });
  f(ts::ones({50, 50})).block_until_ready();
  EXPECT_EQ(texts(), (Lines{"first 0", "second 1", "turn 0", "turn 1", "turn 2", "third 1",
                            "more 0", "more 1", "more 2"}));
}

TEST_F(DebugPrint, DerivativesPrintOnce) {
  const auto loss = [](Array x) {
    const Array y = ts::sin(x);
    ts::debug::print("y {:.3f}", y);
    return ts::sum(y * y);
  };
  const Array x = vec({0, 1});
  const Lines once{"y [0.000 0.841]"};
  ts::grad(loss)(x).block_until_ready();
  EXPECT_EQ(texts(), once);
  ts::jit(ts::grad(loss))(x).block_until_ready();
  EXPECT_EQ(texts(), once);
  ts::jit(ts::value_and_grad(loss))(x).second.block_until_ready();
  EXPECT_EQ(texts(), once);
  ts::jit(ts::grad(ts::remat(loss)))(x).block_until_ready();
  EXPECT_EQ(texts(), once);
  ts::jvp(loss, std::tuple(x), std::tuple(x)).second.block_until_ready();
  EXPECT_EQ(texts(), once);
  ts::jit(ts::grad([&](Array x) { return ts::sum(ts::grad(loss)(x)); }))(x).block_until_ready();
  EXPECT_EQ(texts(), once);
  ts::hessian(loss)(x).block_until_ready();
  EXPECT_EQ(texts(), once);
}

TEST_F(DebugPrint, LoopsPrintAtEachTurnAndTheirDerivativesToo) {
  const auto run = [](Array x) {
    return ts::scan(
               [](Array c, Array x) {
                 ts::debug::print("{} {}", c, x);
                 return std::pair(c * x, c);
               },
               Array(1.0f), x)
        .first;
  };
  const Lines turns{"1.0 2.0", "2.0 3.0", "6.0 4.0"};
  ts::jit(run)(vec({2, 3, 4})).block_until_ready();
  EXPECT_EQ(texts(), turns);
  ts::jit(ts::grad(run))(vec({2, 3, 4})).block_until_ready();
  EXPECT_EQ(texts(), turns);
  ts::jit(ts::grad(ts::remat(run)))(vec({2, 3, 4})).block_until_ready();
  EXPECT_EQ(texts(), turns);
  // The printed value is neither a carry nor a result.
  ts::jit(ts::grad([](Array x) {
    return ts::fori_loop(
        0, 2,
        [](Array i, Array c) {
          ts::debug::print("turn {}", i);
          return c * c;
        },
        x);
  }))(Array(1.5f))
      .block_until_ready();
  EXPECT_EQ(texts(), (Lines{"turn 0", "turn 1"}));
}

TEST_F(DebugPrint, ALoopForPrintsAloneRuns) {
  const auto f = ts::jit([](Array x) {
    ts::fori_loop(
        0, 2,
        [&](Array i, Array c) {
          ts::debug::print("{} {}", i, x);
          return c + 1;
        },
        Array(0));
    return x;
  });
  f(Array(5)).block_until_ready();
  EXPECT_EQ(texts(), (Lines{"0 5", "1 5"}));
}

TEST_F(DebugPrint, BranchesPrintWhereTheyAreTaken) {
  const auto f = [](Array p, Array x) {
    return ts::cond(
        p,
        [](Array x) {
          ts::debug::print("yes {}", x);
          return x;
        },
        [](Array x) {
          ts::debug::print("no {}", x);
          return -x;
        },
        x);
  };
  ts::jit(f)(Array(true), Array(1)).block_until_ready();
  ts::jit(f)(Array(false), Array(2)).block_until_ready();
  EXPECT_EQ(texts(), (Lines{"yes 1", "no 2"}));
  const auto g = [&](Array p, Array x) { return ts::sum(f(p, x) * x); };
  ts::jit(ts::grad<1>(g))(Array(true), Array(3.0f)).block_until_ready();
  EXPECT_EQ(texts(), (Lines{"yes 3.0"}));
  // Each member decides for itself.
  const Array chosen(std::vector<bool>{true, false, true});
  ts::jit(ts::vmap(f))(chosen, ts::arange(3)).block_until_ready();
  EXPECT_EQ(sorted(with_positions()), (Lines{"vmap=0 yes 0", "vmap=1 no 1", "vmap=2 yes 2"}));
}

TEST_F(DebugPrint, MembersThatHaveStoppedPrintNoMore) {
  const auto f = [](Array n) {
    return ts::while_loop([&](Array i) { return i < n; },
                          [](Array i) {
                            ts::debug::print("at {}", i);
                            return ts::cond(
                                i > 0,
                                [](Array i) {
                                  ts::debug::print("beyond {}", i);
                                  return i + 1;
                                },
                                [](Array i) { return i + 1; }, i);
                          },
                          Array(0));
  };
  ts::jit(ts::vmap(f))(Array(std::vector<int>{0, 2, 1})).block_until_ready();
  EXPECT_EQ(with_positions(),
            (Lines{"vmap=1 at 0", "vmap=2 at 0", "vmap=1 at 1", "vmap=1 beyond 1"}));
}

TEST_F(DebugPrint, MapsPrintForEachMember) {
  const auto f = [](Array x) {
    ts::debug::print("{}", x);
    return x;
  };
  ts::vmap(f)(ts::arange(4).reshape({2, 2})).block_until_ready();
  EXPECT_EQ(with_positions(), (Lines{"vmap=0 [0 1]", "vmap=1 [2 3]"}));
  ts::jit(ts::vmap(ts::vmap(f, {.axis_name = "i"}), {.in_axes = {1}}))(
      ts::arange(4).reshape({2, 2}))
      .block_until_ready();
  EXPECT_EQ(with_positions(),
            (Lines{"i=0 vmap=0 0", "i=1 vmap=0 2", "i=0 vmap=1 1", "i=1 vmap=1 3"}));
}

TEST_F(DebugPrint, DevicesSayWhichTheyAre) {
  const auto f = ts::pmap(
      [](Array x) {
        const Array mean = ts::pmean(x, "i");
        ts::debug::print("{} of {}", x, mean);
        return ts::scan(
                   [&](Array c, Array) {
                     ts::debug::print("turn {}", c);
                     return std::pair(c + 1, c);
                   },
                   Array(0), ts::zeros({2}))
                   .first +
               x;
      },
      {.axis_name = "i"});
  for (int call = 0; call < 2; ++call) {
    f(ts::arange(4)).block_until_ready();
    const auto all = printed();
    for (std::int64_t d = 0; d < 4; ++d) {
      Lines own;
      for (const auto& p : all)
        if (p.position == Position{{"i", d}}) own.push_back(p.text);
      EXPECT_EQ(own, (Lines{std::to_string(d) + " of 1.5", "turn 0", "turn 1"})) << d;
    }
    EXPECT_EQ(all.size(), 12u);
    for (const auto& p : all)
      EXPECT_EQ(p.step, p.text == "turn 1" ? 2 * call + 1 : p.text == "turn 0" ? 2 * call : call);
  }
}

TEST_F(DebugPrint, PartitionedProgramsPrintOnceWithWholeValues) {
  const ts::Mesh mesh({{"x", 2}, {"y", 2}});
  const auto f = ts::jit(
      [](Array a) {
        const Array b = a * 2;
        ts::debug::print("{}", b);
        return ts::fori_loop(
            0, 2,
            [](Array i, Array b) {
              ts::debug::print("{}: {}", i, b);
              return b + 1;
            },
            b);
      },
      {.mesh = mesh, .in_shardings = {ts::P("x", "y")}, .out_shardings = {ts::P("x")}});
  f(ts::arange(4).reshape({2, 2})).block_until_ready();
  EXPECT_EQ(with_positions(),
            (Lines{"[[0 2]\n [4 6]]", "0: [[0 2]\n [4 6]]", "1: [[1 3]\n [5 7]]"}));
}

TEST_F(DebugPrint, RegionsPrintOnEachDevice) {
  const ts::Mesh mesh({{"x", 2}, {"y", 2}});
  const auto body = [](Array a) {
    const Array total = ts::psum(a, ts::AxisNames{"x", "y"});
    ts::debug::print("{}", a);
    ts::debug::print("sum {}", total);
    return ts::fori_loop(
        0, 1,
        [&](Array, Array c) {
          ts::debug::print("turn {}", c);
          return c;
        },
        ts::sum(total));
  };
  const auto f =
      ts::shard_map(body, {.mesh = mesh, .in_specs = {ts::P("x", "y")}, .out_specs = {ts::P()}});
  const Array x = ts::arange(4).reshape({2, 2});
  const Lines want = {"x=0 y=0 [[0]]", "x=0 y=0 sum [[6]]", "x=0 y=0 turn 6",
                      "x=0 y=1 [[1]]", "x=0 y=1 sum [[6]]", "x=0 y=1 turn 6",
                      "x=1 y=0 [[2]]", "x=1 y=0 sum [[6]]", "x=1 y=0 turn 6",
                      "x=1 y=1 [[3]]", "x=1 y=1 sum [[6]]", "x=1 y=1 turn 6"};
  f(x).block_until_ready();
  EXPECT_EQ(sorted(with_positions()), want);
  ts::jit(f)(x).block_until_ready();
  EXPECT_EQ(sorted(with_positions()), want);
  ts::jit(ts::grad([&](Array x) { return f(x); }))(x.astype(ts::f32)).block_until_ready();
  EXPECT_EQ(with_positions().size(), want.size());
}

TEST_F(DebugPrint, PartlyManualProgramsPrintOncePerManualDevice) {
  const ts::Mesh mesh({{"x", 2}, {"y", 2}});
  const auto f = ts::jit(ts::shard_map(
      [](Array a) {
        ts::debug::print("{}", a);
        return a;
      },
      {.mesh = mesh, .in_specs = {ts::P("x")}, .out_specs = {ts::P("x")}, .axis_names = {"x"}}));
  f(ts::arange(4)).block_until_ready();
  EXPECT_EQ(sorted(with_positions()), (Lines{"x=0 [0 1]", "x=1 [2 3]"}));
}

TEST_F(DebugPrint, EqualProgramsAreCompiledOnce) {
  const auto loss = [](Array x) {
    ts::debug::print("{}", x);
    return x * x;
  };
  ts::grad(loss)(Array(1.0f)).block_until_ready();
  const std::int64_t compiled = ts::cache_stats().entries;
  for (int i = 0; i < 5; ++i) ts::grad(loss)(Array(2.0f)).block_until_ready();
  EXPECT_EQ(ts::cache_stats().entries, compiled);
  EXPECT_EQ(texts().size(), 6u);
}

TEST_F(DebugPrint, ExportsLeaveItOut) {
  const std::string text = ts::stablehlo_text(
      [](Array x) {
        ts::debug::print("{}", x * 3);
        return x + 1;
      },
      vec({1}));
  EXPECT_EQ(text.find("multiply"), std::string::npos) << text;
  EXPECT_NE(text.find("add"), std::string::npos) << text;
}

TEST_F(DebugPrint, SaysWhichFormatsDoNotFit) {
  EXPECT_EQ(
      message([] { ts::debug::print("{:.3f}", 1); }),
      "debug::print: '{:.3f}' for values of int32: precision not allowed for this argument type\n"
      "  rule: behind the colon stands a format of std::format, which goes for each number\n"
      "  try: '{:.3f}' for floats, '{:5d}' for integers, or '{}'");
}

TEST_F(DebugPrint, HandlersDoNotCompute) {
  NEEDS_CPU(host_calls);
  const auto f = ts::jit([](Array x) {
    ts::debug::print("{}", x);
    return x + 1;
  });
  const auto compute = [](const ts::debug::Printed&) { (void)(Array(1) + ts::ones({3})); };
  const ts::debug::PrintHandler recording = ts::debug::set_print_handler(compute);
  const std::string text = message([&] { f(Array(1)).block_until_ready(); });
  EXPECT_NE(
      text.find("a handler of prints computes with arrays\n"
                "  rule: handlers run in the middle of a call, and others wait until it is over\n"
                "  try: keep what is printed, and compute with it outside"),
      std::string::npos)
      << text;
  ts::debug::set_print_handler(recording);
  EXPECT_EQ(f(Array(1)).item<int>(), 2);
  EXPECT_EQ(texts(), Lines{"1"});
}

TEST_F(DebugPrint, WhatHandlersThrowIsTheErrorOfTheResults) {
  const auto f = ts::jit([](Array x) {
    ts::debug::print("{}", x);
    return x + 1;
  });
  const ts::debug::PrintHandler recording = ts::debug::set_print_handler(
      [](const ts::debug::Printed&) { throw std::runtime_error("the disk is full"); });
  EXPECT_THROW(
      {
        try {
          f(Array(1)).block_until_ready();
        } catch (const std::runtime_error& e) {
          EXPECT_STREQ(e.what(), "the disk is full");
          throw;
        }
      },
      std::runtime_error);
  ts::debug::set_print_handler(recording);
}

}  // namespace
