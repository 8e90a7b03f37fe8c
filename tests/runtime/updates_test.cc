// Updates in place: which results reuse their operand's memory, and that no reader of the old value
// sees it change.
#include "programs.h"

#include "runtime/buffer.h"

#include <regex>

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

constexpr std::int64_t kRows = 64;
const ts::Type kCache(ts::f32, {kRows, 32}), kRow(ts::f32, {32}), kStack(ts::f32, {6, 32}),
    kInt(ts::i32, {});

ts::Value at(ts::Builder& b, int i) { return ops::scalar(b, ts::i32, i); }
ts::Value set(ts::Value x, ts::Value row, ts::Value i) {
  return ops::dynamic_update_slice(x, ops::reshape(row, {1, 32}), ts::Values{i, at(*x.builder, 0)});
}
ts::Value get(ts::Value x, ts::Value i) {
  return ops::reshape(ops::dynamic_slice(x, ts::Values{i, at(*x.builder, 0)}, {1, 32}), {32});
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t i = text.find(what); i != text.npos; i = text.find(what, i + 1)) ++n;
  return n;
}
// The number of steps that overwrite their operand.
std::size_t overwriting(const std::string& schedule) {
  const std::regex over(R"(-> [^\n]* over %)");
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(schedule.begin(), schedule.end(), over), {}));
}

struct Ran {
  std::string schedule;
  MemoryPlan memory;
};
// Runs the program and compares it with the evaluators, which copy. Arguments must not change.
Ran check(const ts::ProgramPtr& p) {
  std::vector<ts::HostArray> in;
  std::vector<ArrayDataPtr> arrays;
  for (std::size_t i = 0; i < p->inputs.size(); ++i) {
    in.push_back(counted(p->types[p->inputs[i]], static_cast<int>(i)));
    arrays.push_back(put(in.back()));
  }
  auto expected = evaluate(*p, in);
  auto f = compile(p);
  auto got = f->run(arrays);
  for (std::size_t k = 0; k < got.size(); ++k)
    EXPECT_TRUE(same_bits(host(*got[k]), expected[k])) << "result " << k << "\n" << f->schedule();
  for (std::size_t k = 0; k < in.size(); ++k)
    EXPECT_TRUE(same_bits(host(*arrays[k]), in[k])) << "argument " << k;
  return {f->schedule(), f->memory()};
}

// Six iterations of (cache, i) -> (turn's first result, i + 1); turn's second result is stacked.
ts::ProgramPtr loop(
    const std::function<ts::Values(ts::Value cache, ts::Value i, ts::Value row)>& turn) {
  auto body = program({kCache, kInt, kRow}, [&](ts::Builder& b, ts::Values v) {
    ts::Values out = turn(v[0], v[1], v[2]);
    return ts::Values{out[0], ops::add(v[1], at(b, 1)), out[1]};
  });
  return program({kCache, kInt, kStack}, [&](ts::Builder& b, ts::Values v) {
    return ops::scan(body, {}, std::span(v).subspan(0, 2), std::span(v).subspan(2, 1), 6, false, b);
  });
}

}  // namespace

TEST(Updates, ACarryStaysWhereItIs) {
  Ran r = check(loop([](ts::Value c, ts::Value i, ts::Value row) {
    return ts::Values{set(c, row, i), row};
  }));
  EXPECT_EQ(count(r.schedule, "in place 0"), 1u) << r.schedule;
  EXPECT_EQ(overwriting(r.schedule), 1u) << r.schedule;
  EXPECT_LT(r.memory.temporaries, kCache.bytes());  // there is no second buffer
}
TEST(Updates, OfACarryMayFollowEachOtherAndGoThroughViews) {
  Ran r = check(loop([](ts::Value c, ts::Value i, ts::Value row) {
    ts::Value one = ops::reshape(set(c, row, i), {kRows * 32});
    one = ops::dynamic_update_slice(one, get(c, i), ts::Values{ops::add(i, at(*c.builder, 70))});
    return ts::Values{ops::reshape(one, kCache.shape), row};
  }));
  EXPECT_EQ(count(r.schedule, "in place 0"), 1u) << r.schedule;
  EXPECT_EQ(overwriting(r.schedule), 2u) << r.schedule;
}
TEST(Updates, WaitForThoseWhoReadTheOldValue) {
  Ran r = check(loop([](ts::Value c, ts::Value i, ts::Value row) {
    ts::Value next = set(c, row, i);
    return ts::Values{next, ops::reduce_sum(ops::mul(c, c), {0})};  // reads c after the update
  }));
  EXPECT_EQ(count(r.schedule, "in place 0"), 1u) << r.schedule;
}
TEST(Updates, KeepKernelsApartThatReadTheOldAndTheNewValue) {
  Ran r = check(loop([](ts::Value c, ts::Value i, ts::Value row) {
    ts::Value before = get(c, i), next = set(c, ops::add(before, row), i);
    return ts::Values{next, ops::sub(before, get(next, ops::sub(i, at(*c.builder, 1))))};
  }));
  EXPECT_EQ(count(r.schedule, "in place 0"), 1u) << r.schedule;
}
TEST(Updates, CopyWhereTheOldValueIsNeededAfterwards) {
  Ran r = check(loop([](ts::Value c, ts::Value i, ts::Value row) {
    ts::Value next = set(c, row, i);
    // The new value determines which row of the old one is read.
    ts::Value k = ops::convert(ops::reduce_max(get(next, i), {0}), ts::i32);
    return ts::Values{next, get(c, k)};
  }));
  EXPECT_EQ(count(r.schedule, "in place"), 0u) << r.schedule;
}
TEST(Updates, OfOneCarryWhileAnotherTakesItsOldValue) {
  auto body = program({kCache, kCache, kRow}, [](ts::Builder& b, ts::Values v) {
    return ts::Values{set(v[0], v[2], at(b, 3)), v[0], get(v[1], at(b, 3))};
  });
  check(program({kCache, kCache, kStack}, [&](ts::Builder& b, ts::Values v) {
    return ops::scan(body, {}, std::span(v).subspan(0, 2), std::span(v).subspan(2, 1), 6, true, b);
  }));
  // Both carries start as the same array, which the caller reads as well.
  check(program({kCache, kStack}, [&](ts::Builder& b, ts::Values v) {
    ts::Value start = ops::neg(v[0]);
    ts::Values out =
        ops::scan(body, {}, ts::Values{start, start}, std::span(v).subspan(1, 1), 6, false, b);
    out.push_back(start);
    return out;
  }));
}
TEST(Updates, OfAnUpdateThatIsTheOperandItself) {
  check(program({kCache, kInt}, [](ts::Builder& b, ts::Values v) {
    ts::Value x = ops::add(v[0], v[0]);
    ops::ScatterDims dims;
    dims.update_window_dims = {1};
    dims.inserted_window_dims = {0};
    dims.scatter_dims_to_operand_dims = {0};
    dims.index_vector_dim = 1;
    ts::Value back = ops::reverse(ops::iota(b, ts::i32, {kRows, 1}, 0), {0});
    return ts::Values{ops::scatter("scatter_add", x, back, x, dims, "drop")};
  }));
}
TEST(Updates, InLoopsInLoops) {
  auto inner = program({kCache, kInt, kRow}, [](ts::Builder& b, ts::Values v) {
    return ts::Values{set(v[0], ops::add(v[2], get(v[0], v[1])), v[1]), ops::add(v[1], at(b, 3))};
  });
  auto outer = program({kStack, kCache, kInt, kRow}, [&](ts::Builder& b, ts::Values v) {
    ts::Values r =
        ops::scan(inner, {}, std::span(v).subspan(1, 2), std::span(v).subspan(0, 1), 6, false, b);
    return ts::Values{set(r[0], v[3], ops::and_(r[1], at(b, 7))), r[1]};
  });
  Ran r = check(program({kStack, kCache, kInt, kStack}, [&](ts::Builder& b, ts::Values v) {
    return ops::scan(outer, std::span(v).subspan(0, 1), std::span(v).subspan(1, 2),
                     std::span(v).subspan(3, 1), 6, false, b);
  }));
  EXPECT_EQ(count(r.schedule, "in place 0"), 2u) << r.schedule;
  // The inner loop's carry shares the memory of the outer one, as does the update after it.
  EXPECT_EQ(overwriting(r.schedule), 3u) << r.schedule;
  EXPECT_LT(r.memory.temporaries, kCache.bytes());
}
TEST(Updates, InBranchesOfALoop) {
  auto change = program({kCache, kRow, kInt}, [](ts::Builder&, ts::Values v) {
    return ts::Values{set(v[0], v[1], v[2])};
  });
  auto leave =
      program({kCache, kRow, kInt}, [](ts::Builder&, ts::Values v) { return ts::Values{v[0]}; });
  auto renew = program({kCache, kRow, kInt}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::broadcast_in_dim(v[1], kCache.shape, {1})};
  });
  for (const ts::Programs& branches : {ts::Programs{change, leave}, {leave, renew, change}}) {
    Ran r = check(loop([&](ts::Value c, ts::Value i, ts::Value row) {
      ts::Value which = ops::rem(i, at(*c.builder, static_cast<int>(branches.size())));
      return ts::Values{ops::cond(which, branches, ts::Values{c, row, i})[0], row};
    }));
    EXPECT_EQ(count(r.schedule, "scan scan x 6 in place 0"), 1u) << r.schedule;
    EXPECT_EQ(count(r.schedule, "cond cond in place 0"), 1u) << r.schedule;
  }
}
TEST(Updates, InWhileLoopsOfAnyNumberOfTurns) {
  auto cond = program({kInt, kInt, kCache}, [](ts::Builder& b, ts::Values v) {
    ts::Value go = ops::lt(get(v[2], at(b, 0)), ops::full(b, ts::f32, {32}, 1000));
    return ts::Values{ops::and_(ops::lt(v[1], v[0]), ops::reduce_and(go, {0}))};
  });
  auto body = program({kRow, kInt, kCache}, [](ts::Builder& b, ts::Values v) {
    ts::Value row = ops::add(v[0], get(v[2], v[1]));
    return ts::Values{ops::add(v[1], at(b, 1)), set(v[2], row, v[1])};
  });
  auto p = program({kInt, kRow, kInt, kCache}, [&](ts::Builder&, ts::Values v) {
    return ops::while_(cond, body, std::span(v).subspan(0, 1), std::span(v).subspan(1, 1),
                       std::span(v).subspan(2, 2));
  });
  EXPECT_EQ(count(compile(p)->schedule(), "in place 1"), 1u) << compile(p)->schedule();
  for (int turns : {0, 1, 2, 7}) {
    ts::HostArray n(ts::i32, {}), zero(ts::i32, {});
    n.data<std::int32_t>()[0] = turns;
    zero.data<std::int32_t>()[0] = 0;
    std::vector<ts::HostArray> in = {n, counted(kRow, 1), zero, counted(kCache, 2)};
    auto expected = evaluate(*p, in);
    auto got = run(p, in);
    for (int k : {0, 1}) EXPECT_TRUE(same_bits(host(*got[k]), expected[k])) << turns;
  }
}
TEST(Updates, OfADonatedArgumentNeedNoOtherMemory) {
  for (bool in_loop : {false, true}) {
    auto p = in_loop ? loop([](ts::Value c, ts::Value i, ts::Value row) {
      return ts::Values{set(c, row, i), row};
    })
                     : program({kCache, kInt, kRow}, [](ts::Builder&, ts::Values v) {
                         ts::Value next = set(v[0], v[2], v[1]);
                         return ts::Values{next, get(v[0], v[1])};
                       });
    std::vector<ts::HostArray> in;
    std::vector<ArrayDataPtr> arrays;
    for (std::size_t i = 0; i < p->inputs.size(); ++i) {
      in.push_back(counted(p->types[p->inputs[i]], static_cast<int>(i)));
      arrays.push_back(put(in.back()));
    }
    const std::byte* memory = arrays[0]->shards[0].buffer->host_data();
    CompileOptions options;
    options.donated = {true, false, false};
    auto got = compile(p, options)->run(arrays);
    auto expected = evaluate(*p, in);
    EXPECT_EQ(got[0]->shards[0].buffer->host_data(), memory);
    for (std::size_t k = 0; k < got.size(); ++k)
      EXPECT_TRUE(same_bits(host(*got[k]), expected[k])) << k;
  }
}
// The caches of a decoder: the arguments are alike, and each result is the update of one of them,
// whatever the order of the results is.
TEST(Updates, OfSeveralDonatedArgumentsStayInTheirOwnMemory) {
  const std::vector<int> order{2, 0, 3, 1};
  auto p = program({kCache, kCache, kCache, kCache, kInt, kRow}, [&](ts::Builder&, ts::Values v) {
    ts::Values next;
    for (int i : {0, 1, 2, 3}) next.push_back(set(v[i], v[5], v[4]));
    ts::Values results;
    for (int i : order) results.push_back(next[i]);
    return results;
  });
  std::vector<ts::HostArray> in;
  std::vector<ArrayDataPtr> arrays;
  std::vector<const std::byte*> memory;
  for (std::size_t i = 0; i < p->inputs.size(); ++i) {
    in.push_back(counted(p->types[p->inputs[i]], static_cast<int>(i)));
    arrays.push_back(put(in.back()));
    memory.push_back(arrays[i]->shards[0].buffer->host_data());
  }
  CompileOptions options;
  options.donated = {true, true, true, true, false, false};
  auto got = compile(p, options)->run(arrays);
  auto expected = evaluate(*p, in);
  for (std::size_t k = 0; k < got.size(); ++k) {
    EXPECT_EQ(got[k]->shards[0].buffer->host_data(), memory[order[k]]) << k;
    EXPECT_TRUE(same_bits(host(*got[k]), expected[k])) << k;
  }
}
TEST(Updates, OfTemporariesTakeTheirMemory) {
  Ran r = check(program({kCache, kRow}, [](ts::Builder& b, ts::Values v) {
    ts::Value x = ops::mul(v[0], v[0]);
    x = set(set(x, v[1], at(b, 2)), v[1], at(b, 5));
    return ts::Values{x, ops::reduce_sum(x, {0})};
  }));
  EXPECT_EQ(overwriting(r.schedule), 2u) << r.schedule;
  // An earlier value that is also a result is not overwritten.
  r = check(program({kCache, kRow}, [](ts::Builder& b, ts::Values v) {
    ts::Value x = ops::mul(v[0], v[0]), y = set(x, v[1], at(b, 2)), z = set(y, v[1], at(b, 2));
    return ts::Values{x, z, y, z};
  }));
}

class UpdatesOn : public testing::TestWithParam<int> {};
TEST_P(UpdatesOn, EachDeviceHasACarryOfItsOwn) {
  const std::int64_t n = GetParam();
  auto body = program({kCache, kInt, kRow}, [&](ts::Builder& b, ts::Values v) {
    ts::Value row = ops::psum(get(v[0], v[1]), {"i"}, n);
    return ts::Values{set(v[0], ops::add(row, v[2]), v[1]), ops::add(v[1], at(b, 1))};
  });
  for (bool communicate : {false, true}) {
    auto alone = program({kCache, kInt, kRow}, [&](ts::Builder& b, ts::Values v) {
      return ts::Values{set(v[0], v[2], v[1]), ops::add(v[1], at(b, 1))};
    });
    // The carry is equal on all devices before the loop and differs after it.
    Sharded s({{"i"}, {n}}, {kCache, ts::Type(ts::f32, {6 * n, 32})}, {"", "i"}, {"i", "i"},
              [&](ts::Builder& b, ts::Values v) {
                ts::Values init{ops::neg(v[0]), at(b, 1)};
                ts::Values out = ops::scan(communicate ? body : alone, {}, init,
                                           std::span(v).subspan(1, 1), 6, false, b);
                return ts::Values{out[0], init[0]};
              });
    s.check();
    EXPECT_EQ(count(compile(s.whole())->schedule(), "in place 0"), 1u)
        << compile(s.whole())->schedule();
  }
}
INSTANTIATE_TEST_SUITE_P(Counts, UpdatesOn, testing::Values(1, 2, 5));
