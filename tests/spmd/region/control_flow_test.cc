// Control flow of per-device programs: which results are uniform, which collectives inside it are
// always wrong, and how the reference runs it if devices disagree.
#include "specs.h"
#include "spmd/region/checks.h"
#include "spmd/region/uniformity.h"
#include "spmd/spmd_check.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

const AxisSet kNone, kX{"x"}, kY{"y"}, kBoth{"x", "y"};
const Type kScalar(f32, {}), kIndex(i32, {});

ProgramPtr times_two() {
  return program_of({kScalar},
                    [](Builder&, const Values& in) { return Values{ops::add(in[0], in[0])}; });
}
ProgramPtr identity() {
  return program_of({kScalar}, [](Builder&, const Values& in) { return Values{in[0]}; });
}

/// while (carry < limit) carry = f(carry), over (limit, carry).
Values count_up(Value limit, Value carry, const std::function<Value(Value)>& f) {
  ProgramPtr cond = program_of(
      {kScalar, kScalar}, [](Builder&, const Values& in) { return Values{ops::lt(in[1], in[0])}; });
  ProgramPtr body =
      program_of({kScalar}, [&](Builder&, const Values& in) { return Values{f(in[0])}; });
  return ops::while_(cond, body, Values{limit}, {}, Values{carry});
}

std::vector<AxisSet> of(const std::vector<Type>& types, const std::vector<AxisSet>& inputs,
                        const Body& f) {
  return spmd::output_uniformity(*program_of(types, f), inputs);
}

void line(Builder& b, int n) {
  b.loc.file = "train.cc";
  b.loc.line = n;
}

}  // namespace

TEST(ControlFlowUniformity, Branches) {
  Body branch = [](Builder&, const Values& in) {
    return ops::cond(in[0], {times_two(), identity()}, Values{in[1]});
  };
  EXPECT_EQ(of({kIndex, kScalar}, {kNone, kX}, branch)[0], kX);
  EXPECT_EQ(of({kIndex, kScalar}, {kX, kNone}, branch)[0], kX);
  EXPECT_EQ(of({kIndex, kScalar}, {kX, kY}, branch)[0], kBoth);
  // One branch returns a value that varies.
  ProgramPtr own = program_of({kScalar}, [](Builder& b, const Values&) {
    return Values{ops::convert(ops::axis_index(b, {"y"}, 3), f32)};
  });
  EXPECT_EQ(of({kIndex, kScalar}, {kNone, kNone},
               [&](Builder&, const Values& in) {
                 return ops::cond(in[0], {own, identity()}, Values{in[1]});
               })[0],
            kY);
}

TEST(ControlFlowUniformity, LoopsReachTheirFixpoint) {
  Body loop = [](Builder&, const Values& in) {
    return count_up(in[0], in[1], [](Value c) { return ops::add(c, c); });
  };
  EXPECT_EQ(of({kScalar, kScalar}, {kNone, kNone}, loop)[0], kNone);
  EXPECT_EQ(of({kScalar, kScalar}, {kX, kNone}, loop)[0],
            kX);  // devices leave at different iterations
  EXPECT_EQ(of({kScalar, kScalar}, {kNone, kY}, loop)[0], kY);
  // (a, b, c) -> (b, c, x): x reaches a after three steps.
  ProgramPtr body =
      program_of({kScalar, kScalar, kScalar, kScalar}, [](Builder&, const Values& in) {
        return Values{in[1], in[2], in[3], in[0]};
      });
  Body scan = [&](Builder& b, const Values& in) {
    return ops::scan(body, {}, Values{in[0], in[1], in[2]}, Values{in[3]}, 4, false, b);
  };
  std::vector<Type> types{kScalar, kScalar, kScalar, Type(f32, {4})};
  EXPECT_EQ(of(types, {kNone, kNone, kNone, kX}, scan), (std::vector<AxisSet>{kX, kX, kX, kX}));
  // The value that enters as a is no longer a carry at the end, but it is among the stacked
  // results. With no steps it is the result.
  EXPECT_EQ(of(types, {kY, kNone, kNone, kNone}, scan),
            (std::vector<AxisSet>{kNone, kNone, kNone, kY}));
  Body no_steps = [&](Builder& b, const Values& in) {
    return ops::scan(body, {}, Values{in[0], in[1], in[2]}, Values{in[3]}, 0, false, b);
  };
  types[3] = Type(f32, {0});
  EXPECT_EQ(of(types, {kY, kNone, kNone, kNone}, no_steps)[0], kY);
  // A carry that is summed in every step stays equal on all devices.
  ProgramPtr summed = program_of({kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{ops::add(in[0], ops::psum(in[1], {"x"}, 2)), in[1]};
  });
  EXPECT_EQ(of({kScalar, Type(f32, {4})}, {kNone, kX},
               [&](Builder& b, const Values& in) {
                 return ops::scan(summed, {}, Values{in[0]}, Values{in[1]}, 4, false, b);
               }),
            (std::vector<AxisSet>{kNone, kX}));
}

TEST(ControlFlowUniformity, CallsAreSeenThrough) {
  ProgramPtr body = program_of({kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{ops::psum(in[0], {"x"}, 2), in[1]};
  });
  EXPECT_EQ(of({kScalar, kScalar}, {kX, kY},
               [&](Builder& b, const Values& in) { return ops::remat(b, body, in); }),
            (std::vector<AxisSet>{kNone, kY}));
}

TEST(ControlFlowChecks, LonelyCollectives) {
  auto check = [](const Program& p, Strings in) {
    spmd::MapInfo m{"pmap", p, {{"x", "y"}, {2, 3}}, {}, {}, {}, {}, {}};
    for (const auto& s : in) m.in_specs.push_back(spec(s));
    return error_of<CollectiveError>([&] { spmd::check_collectives_in_control_flow(m); });
  };
  ProgramPtr branch = [] {
    Builder b;
    Value x = b.input(kScalar);
    line(b, 21);
    Values out{ops::psum(x, {"x"}, 2)};
    return b.finish(out);
  }();
  Builder b;
  Value index = b.input(kIndex), x = b.input(kScalar);
  line(b, 20);
  Values out = ops::cond(index, {branch, identity()}, Values{x});
  ProgramPtr p = b.finish(out);
  EXPECT_EQ(check(*p, {"x", "x"}),
            "pmap: a collective would wait for devices that never come to it\n"
            "  - psum in train.cc:21 over 'x' is inside the cond in train.cc:20, whose predicate "
            "differs along 'x'\n"
            "  rule: all devices along an axis run a collective over it, so they agree on the "
            "predicates around it\n"
            "  try: make the predicate the same on all devices with pmax or psum, or move the "
            "collective out");
  EXPECT_EQ(check(*p, {"", "x"}), "no error");
  EXPECT_EQ(check(*p, {"y", "x"}), "no error");  // devices that differ do not meet in this sum

  ProgramPtr loop = program_of({kScalar, kScalar}, [](Builder&, const Values& in) {
    return count_up(in[0], in[1], [](Value c) {
      return ops::reduce_sum(ops::all_gather(c, {"x"}, 2, 0, false), {0});
    });
  });
  EXPECT_EQ(check(*loop, {"", ""}), "no error");
  EXPECT_NE(check(*loop, {"x", ""})
                .find("all_gather over 'x' is inside the while, whose predicate differs along 'x'"),
            std::string::npos);
}

TEST(ControlFlowReference, DevicesThatDisagree) {
  // A collective over y inside a branch that depends on the coordinate along x.
  ProgramPtr sum_y = program_of(
      {kScalar}, [](Builder&, const Values& in) { return Values{ops::psum(in[0], {"y"}, 3)}; });
  ProgramPtr p = program_of({kScalar}, [&](Builder& b, const Values& in) {
    return ops::cond(ops::axis_index(b, {"x"}, 2), {sum_y, identity()}, Values{in[0]});
  });
  HostArray x = floats({6}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<float>(on_devices(*p, {{"x", "y"}, {2, 3}}, {x})[0]),
            (std::vector<float>{6, 6, 6, 4, 5, 6}));

  // Loops of different lengths without collectives, and one that all devices leave together.
  ProgramPtr own = program_of({kScalar}, [](Builder& b, const Values& in) {
    return count_up(ops::scalar(b, f32, 20), in[0], [](Value c) { return ops::add(c, c); });
  });
  EXPECT_EQ(values<float>(on_axis(*own, 3, {floats({3}, {1, 3, 100})})[0]),
            (std::vector<float>{32, 24, 100}));
  ProgramPtr together = program_of({kScalar}, [](Builder& b, const Values& in) {
    return count_up(ops::scalar(b, f32, 20), in[0], [](Value c) { return ops::psum(c, {"i"}, 3); });
  });
  EXPECT_EQ(values<float>(on_axis(*together, 3, {floats({3}, {1, 2, 4})})[0]),
            (std::vector<float>{21, 21, 21}));
  EXPECT_EQ(error_of<CollectiveError>([&] {
              on_axis(*together, 3, {floats({3}, {1, 30, 4})});
            }),
            "psum: device 1 of the axis did not come to the collective\n"
            "  rule: all devices of a collective run it, so a predicate around it is the same on "
            "all of them");
}

TEST(ControlFlowReference, ScanAndVmapsLaw) {
  // Sums over devices in every step, from both ends.
  for (bool reverse : {false, true}) {
    ProgramPtr body = program_of({kScalar, kScalar, kScalar}, [](Builder&, const Values& in) {
      Value c = ops::add(in[1], ops::mul(in[0], ops::psum(in[2], {"i"}, 3)));
      return Values{c, ops::sub(c, in[2])};
    });
    ProgramPtr p =
        program_of({kScalar, kScalar, Type(f32, {4})}, [&](Builder& b, const Values& in) {
          return ops::scan(body, Values{in[0]}, Values{in[1]}, Values{in[2]}, 4, reverse, b);
        });
    std::vector<HostArray> x{integers(Type(f32, {3}), 1), integers(Type(f32, {3}), 2),
                             integers(Type(f32, {3, 4}), 3)};
    expect_same(evaluate(*mapped(*p, 3, "i"), x), on_axis(*p, 3, x), "scan");
  }
}
