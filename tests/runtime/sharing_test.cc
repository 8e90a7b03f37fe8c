// A result that a collective gives to several devices is computed once and stored once.
#include "programs.h"

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

const ts::Type kBlock(ts::f32, {4, 8});
const ts::IntLists kGroups = {{0, 3}, {2, 1}};

ts::ProgramPtr checked(const Sharded& s) {
  s.check();
  return s.whole();
}
std::string schedule(const ts::ProgramPtr& p) { return compile(p)->schedule(); }

}  // namespace

TEST(Sharing, ABroadcastIsTheSourcesMemory) {
  Devices devices(4);
  auto p =
      checked(Sharded({{"i"}, {4}}, {ts::Type(ts::f32, {16, 8})}, {"i"}, {"", "i", "i", ""},
                      [](ts::Builder&, ts::Values v) {
                        ts::Value twice = ops::add(v[0], v[0]),
                                  all = ops::pbroadcast(twice, {"i"}, 4, 2),
                                  given = ops::pbroadcast(v[0], {"i"}, 4, 1);
                        return ts::Values{all, ops::sub(all, v[0]), ops::mul(given, v[0]), given};
                      }));
  EXPECT_EQ(schedule(p).find("collective pbroadcast"), std::string::npos) << schedule(p);
  // One block for each broadcast, and four for each other result.
  EXPECT_EQ(compile(p)->memory().outputs, kBlock.bytes() * (1 + 4 + 4 + 1));
}
TEST(Sharing, ABroadcastOfAnArgumentPassesPointers) {
  Devices devices(4);
  auto p = checked(Sharded(
      {{"i"}, {4}}, {ts::Type(ts::f32, {16, 8})}, {"i"}, {"i"},
      [](ts::Builder&, ts::Values v) { return ts::Values{ops::pbroadcast(v[0], {"i"}, 4, 2)}; }));
  EXPECT_EQ(compile(p)->memory().outputs, 0);
  // The next call knows that the result is equal on all devices.
  ts::Type whole(ts::f32, {16, 8});
  auto x = compile(p)->run(std::vector<ArrayDataPtr>{put(counted(whole))})[0];
  EXPECT_TRUE(x->uniform);
  auto next = compile(p)->run(std::vector<ArrayDataPtr>{x})[0];
  EXPECT_TRUE(same_bits(host(*next), host(*x)));
}
TEST(Sharing, BroadcastsAlongOneOfTwoAxesAndOfBlocks) {
  Devices devices(6);
  Sharded({{"x", "y"}, {2, 3}}, {ts::Type(ts::f32, {6, 6})}, {"x;y"}, {"x;y", "x;y", "", "x"},
          [](ts::Builder&, ts::Values v) {
            ts::Value x = ops::neg(v[0]);
            ts::Value along = ops::pbroadcast(x, {"y"}, 3, 1);
            return ts::Values{ops::add(along, x), ops::pbroadcast(x, {"x"}, 2, 1),
                              ops::pbroadcast(x, {"y", "x"}, 6, 5), along};
          })
      .check();
}
TEST(Sharing, BroadcastsInLoops) {
  Devices devices(3);
  auto body = program({kBlock, kBlock}, [](ts::Builder&, ts::Values v) {
    ts::Value all = ops::pbroadcast(ops::add(v[0], v[1]), {"i"}, 3, 2);
    return ts::Values{ops::sub(all, v[0]), all};
  });
  Sharded({{"i"}, {3}}, {ts::Type(ts::f32, {12, 8}), ts::Type(ts::f32, {5, 4, 8})}, {"i", ""},
          {"i", ""},
          [&](ts::Builder& b, ts::Values v) {
            return ops::scan(body, {}, std::span(v).subspan(0, 1), std::span(v).subspan(1, 1), 5,
                             false, b);
          })
      .check();
}
TEST(Sharing, AGroupHasOneResult) {
  Devices devices(4);
  auto p =
      checked(Sharded({{"i"}, {4}}, {ts::Type(ts::f32, {16, 8})}, {"i"}, {"i", "i", "i", "i", "i"},
                      [](ts::Builder&, ts::Values v) {
                        ts::Value x = ops::mul(v[0], v[0]), sum = ops::psum(x, {"i"}, 4, kGroups);
                        return ts::Values{sum, ops::pmax(v[0], {"i"}, 4, kGroups), ops::sub(sum, x),
                                          ops::all_gather(x, {"i"}, 4, 0, true, kGroups),
                                          ops::pmin(sum, {"i"}, 4, {{0, 1}, {2, 3}})};
                      }));
  // Each of two groups has one block for each collective, of twice the size for gathers.
  EXPECT_EQ(compile(p)->memory().outputs, kBlock.bytes() * (2 + 2 + 4 + 2 * 2 + 2));
}
TEST(Sharing, WhatAGroupSharesIsNotWrittenOver) {
  Devices devices(4);
  const ts::Type big(ts::f32, {64, 32});
  Sharded({{"i"}, {4}}, {ts::Type(ts::f32, {256, 32})}, {"i"}, {"i", "i"},
          [&](ts::Builder& b, ts::Values v) {
            ts::Value sum = ops::psum(ops::neg(v[0]), {"i"}, 4, kGroups),
                      row = ops::slice(v[0], {0, 0}, {1, 32}, {1, 1}),
                      at = ops::axis_index(b, {"i"}, 4);
            ts::Value mine =
                ops::dynamic_update_slice(sum, row, ts::Values{at, ops::scalar(b, ts::i32, 0)});
            return ts::Values{mine, ops::psum(mine, {"i"}, 4, {{0, 1}, {2, 3}})};
          })
      .check();
}
TEST(Sharing, GroupsOfOneOfTwoAxesAndInLoops) {
  Devices devices(8);
  auto body = program({ts::Type(ts::f32, {2, 4}), ts::Type(ts::f32, {2, 4})},
                      [](ts::Builder&, ts::Values v) {
                        ts::Value sum = ops::psum(ops::sub(v[0], v[1]), {"y"}, 4, kGroups);
                        return ts::Values{sum, ops::pmax(v[0], {"y"}, 4, kGroups)};
                      });
  Sharded({{"x", "y"}, {2, 4}}, {ts::Type(ts::f32, {4, 16}), ts::Type(ts::f32, {3, 2, 4})},
          {"x;y", ""}, {"x;y", "x;y", ";x;y"},
          [&](ts::Builder& b, ts::Values v) {
            ts::Value sum = ops::psum(v[0], {"y"}, 4, kGroups);
            ts::Values out =
                ops::scan(body, {}, ts::Values{v[0]}, std::span(v).subspan(1, 1), 3, false, b);
            return ts::Values{sum, out[0], out[1]};
          })
      .check();
}
