// Products, sums and lookups with known collectives and bytes, and programs of control flow.
#include "spmd/partition_check.h"
#include "transform/autodiff.h"

using namespace partitioning;
using propagation::f32_of;
using propagation::matmul;
using Texts = std::vector<std::string>;

namespace {
const MeshShape kTwo{{"x"}, {2}}, kFour{{"x"}, {4}}, kSquare{{"x", "y"}, {2, 2}};
}

TEST(Partition, APartialProductIsReducedOnce) {
  Case c(kTwo);
  Value a = c.input({8, 16}, ";x"), w = c.input({16, 8}, "x");
  const Partitioned p = c.run({matmul(a, w)}, {""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 256"});
  expect_right(c, p);
}

TEST(Partition, APartialProductIsScatteredWhereItIsWantedSo) {
  Case c(kTwo);
  Value a = c.input({8, 16}, ";x"), w = c.input({16, 8}, "x");
  const Partitioned p = c.run({matmul(a, w)}, {"x"});
  EXPECT_EQ(collectives(p), Texts{"reduce_scatter x 128"});
  expect_right(c, p);
}

TEST(Partition, SumsOfPartialProductsAreReducedOnce) {
  Case c(kTwo);
  Value a = c.input({8, 16}, ";x"), w = c.input({16, 8}, "x"), v = c.input({16, 8}, "x");
  Value s = ops::add(matmul(a, w), matmul(a, v));
  const Partitioned p = c.run({ops::mul(s, ops::full_like(s, 3))}, {""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 256"});
  expect_right(c, p);
}

TEST(Partition, TheSmallerOperandIsGathered) {
  Case c(kTwo);
  Value a = c.input({8, 16}, "x"), w = c.input({16, 8}, ";x");
  const Partitioned p = c.run({matmul(a, w)}, {"x"});
  EXPECT_EQ(collectives(p), Texts{"all_gather x 256"});
  EXPECT_EQ(tessera::to_string(p.collectives[0].whole), "f32[16,8]");
  expect_right(c, p);
}

TEST(Partition, AReplicatedOperandIsCutForNothing) {
  Case c(kTwo);
  Value a = c.input({8, 16}, ";x"), w = c.input({16, 8}, "");
  const Partitioned p = c.run({matmul(a, w)}, {""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 256"});
  expect_right(c, p);
}

TEST(Partition, EachCollectiveKnowsWhatNeededIt) {
  Case c(kTwo);
  Value a = c.input({8, 16}, "x"), w = c.input({16, 8}, ";x");
  const Partitioned p = c.run({matmul(a, w)}, {"x"});
  ASSERT_EQ(p.collectives.size(), 1u);
  EXPECT_EQ(to_string(c.mesh, p.collectives[0]),
            "all_gather 'x' of f32[16,8] for dot_general: P(none, 'x') -> P(), 256 B");
}

TEST(Partition, WhatIsAskedOfEndsIsSaidWhereItCannotBe) {
  Case c(kTwo);
  Value a = c.input({7}, "x");
  EXPECT_THROW(c.run({ops::neg(a)}), ShardingError);
  Case d(kTwo);
  Value v = d.input({8}, "");
  d.options.wanted.inputs[0]->placement.unreduced.insert(0);
  EXPECT_THROW(d.run({ops::neg(v)}), ShardingError);
}

TEST(Partition, AMeshKeepsItsAxesOfSizeOneAndItsDevices) {
  const MeshRef ref(DeviceMesh{{{"a", "x", "b"}, {1, 2, 1}}, {1, 0}});
  Builder b("f");
  Value x = b.input(f32_of({8}));
  const ProgramPtr f = b.finish(Values{ops::reduce_sum(x, {0})});
  const AtomMesh mesh(*ref, AtomMesh::Parts::axes);
  PartitionOptions options;
  options.wanted.inputs.push_back(RequestedPlacement{mesh.placement(spec("x,a"), 1)});
  const Partitioned p = partition(f, ref, options);
  EXPECT_EQ(p.program->equations[0].attrs.get<MeshRef>("mesh"), ref);
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 4"});
}

TEST(Partition, AnEmbeddingIsLookedUpWhereItLies) {
  for (const char* mode : {"clip", "fill", "zero"}) {
    Case c(kSquare);
    Value table = c.input({100, 4}, "x;y"), ids = c.input(Type(DType::int32, {6}), "");
    Value rows = ops::gather(table, ids, {{1}, {0}, {}, {}, {0}, 1}, {1, 4}, mode);
    const Partitioned p = c.run({rows}, {";y"});
    EXPECT_EQ(collectives(p), Texts{"all_reduce x 48"}) << mode;
    std::vector<HostArray> in = drawn_inputs(*c.program);
    const std::int32_t at[] = {-1, 100, 999, 0, 49, 50};
    std::copy_n(at, 6, in[1].data<std::int32_t>());
    enough_devices();
    std::vector<HostArray> whole = evaluate(*c.program, in), got = evaluate(*p.program, in),
                           ran = tessera::testing::run_compiled(p.program, in);
    for (std::int64_t i = 0; i < whole[0].count(); ++i) {
      const double w = whole[0].number(i), g = got[0].number(i), r = ran[0].number(i);
      EXPECT_TRUE(w == g || (w != w && g != g)) << mode << " " << i << ": " << g;
      EXPECT_TRUE(w == r || (w != w && r != r)) << mode << " " << i << ": " << r;
    }
  }
}

TEST(Partition, TheGradientOfAnEmbeddingIsAddedWhereItLies) {
  Case c(kSquare);
  Value table = c.input({10, 4}, "x"), ids = c.input(Type(DType::int32, {24}), "y"),
        rows = c.input({24, 4}, "y");
  Value g = ops::scatter("scatter_add", table, ids, rows, {{1}, {0}, {}, {}, {0}, 1}, "drop");
  const Partitioned p = c.run({g}, {"x"});
  EXPECT_EQ(collectives(p), Texts{"all_reduce y 80"});
  std::vector<HostArray> in = drawn_inputs(*c.program);
  const std::int32_t at[] = {9, 3, 3, 10, -1, 9};
  std::copy_n(at, 6, in[1].data<std::int32_t>() + 9);
  expect_right(*c.program, p, in);
}

TEST(Partition, AnUpdateOfALongCacheMovesNothing) {
  for (std::int32_t start : {-1, 0, 2, 3, 4, 13, 14, 99}) {
    Case c(kFour);
    Value cache = c.input({2, 16, 3}, ";x"), rows = c.input({2, 3, 3}, "");
    Value at = c.input(Type(DType::int32, {}), ""), zero = ops::scalar(c.b, DType::int32, 0);
    const Partitioned p =
        c.run({ops::dynamic_update_slice(cache, rows, Values{zero, at, zero})}, {";x"});
    EXPECT_EQ(collectives(p), Texts{});
    std::vector<HostArray> in = drawn_inputs(*c.program);
    *in[2].data<std::int32_t>() = start;
    expect_right(*c.program, p, in);
  }
}

TEST(Partition, RunningTotalsGoOnFromPartToPart) {
  for (bool reverse : {false, true}) {
    Case c(kFour);
    Value x = c.input({8, 3}, "x");
    const Partitioned p = c.run({ops::cumsum(x, 0, reverse), ops::cumprod(x, 0, reverse),
                                 ops::cummax(x, 0, reverse), ops::cummin(x, 0, reverse)},
                                {"x", "x", "x", "x"});
    EXPECT_EQ(collectives(p), Texts(4, "all_gather x 36"));
    expect_right(c, p);
  }
}

TEST(Partition, ASoftmaxOverPartsOfAVocabularyReducesTwice) {
  Case c(kFour);
  Value x = c.input({4, 12}, ";x");
  auto wide = [&](Value row) { return ops::broadcast_in_dim(row, x.shape(), {0}); };
  Value top = ops::reduce_max(x, {1});
  Value shifted = ops::sub(x, wide(top));
  const Partitioned p = c.run({ops::reduce_sum(shifted, {1})}, {""});
  EXPECT_EQ(collectives(p), (Texts{"all_reduce x 24", "all_reduce x 24"}));
  expect_right(c, p);
}

TEST(Partition, ALabelIsPickedFromPartsOfAVocabulary) {
  Case c(kFour);
  Value x = c.input({64, 12}, ";x"), labels = c.input(Type(DType::int32, {64, 1}), "");
  ops::GatherDims dims{{}, {1}, {0}, {0}, {1}, 1};
  Value picked = ops::gather(x, labels, dims, {1, 1}, "clip");
  Value total = ops::reduce_sum(x, {1});
  const Partitioned p = c.run({ops::reduce_sum(ops::sub(total, picked), {0})}, {""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 6"});
  expect_right(c, p);
}

TEST(Partition, ReshapesOfWholeBlocksMoveNothing) {
  auto moves = [](Shape from, const char* where, Shape to, const char* then) {
    Case c(kTwo);
    Value x = c.input(from, where);
    const Partitioned p = c.run({ops::reshape(x, to)}, {then});
    expect_right(c, p);
    return collectives(p);
  };
  EXPECT_EQ(moves({4, 6}, "x", {24}, "x"), Texts{});
  EXPECT_EQ(moves({24}, "x", {2, 12}, "x"), Texts{});
  EXPECT_EQ(moves({4, 6}, ";x", {24}, "x"), Texts{"all_to_all x 24"});
}

TEST(Partition, CountersAndMasksAreMadeInParts) {
  Case c(kSquare);
  Value x = c.input({8, 4}, "x;y");
  Value row = ops::iota(c.b, DType::int32, {8, 4}, 0),
        column = ops::iota(c.b, DType::int32, {8, 4}, 1);
  Value key = ops::full(c.b, DType::uint32, {8, 4}, 7);
  Value count =
      ops::convert(ops::add(ops::mul(row, ops::full_like(row, 4)), column), DType::uint32);
  Values bits = ops::threefry2x32(key, key, count, count);
  const Partitioned p =
      c.run({ops::select(ops::ge(row, column), x, ops::zeros_like(x)), bits[0]}, {"x;y", "x;y"});
  EXPECT_EQ(collectives(p), Texts{});
  expect_right(c, p);
}

TEST(Partition, ATwoLayerNetworkReducesOnceForwards) {
  Case c({{"d", "m"}, {2, 2}});
  Value x = c.input({8, 16}, "d"), w1 = c.input({16, 32}, ";m"), w2 = c.input({32, 16}, "m");
  Value h = matmul(x, w1);
  h = ops::max(h, ops::zeros_like(h));
  Value o = matmul(h, w2);
  const Partitioned p = c.run({ops::mul(o, o)}, {"d"});
  EXPECT_EQ(collectives(p), Texts{"all_reduce m 256"});
  expect_right(c, p);
}

TEST(Partition, ATrainingStepOfTwoLayersReducesOnceForwardsAndOnceBackwards) {
  Case c({{"m"}, {2}});
  Builder& b = c.b;
  Builder inner("loss");
  Value x = inner.input(f32_of({8, 16})), w1 = inner.input(f32_of({16, 32})),
        w2 = inner.input(f32_of({32, 16}));
  Value h = matmul(x, w1);
  h = ops::max(h, ops::zeros_like(h));
  const ProgramPtr f = inner.finish(Values{matmul(h, w2)});
  const ProgramPtr g = vjp_program(*f, {true, true, true});
  Values in{c.input({8, 16}, ""), c.input({16, 32}, ";m"), c.input({32, 16}, "m"),
            c.input({8, 16}, "")};
  const Partitioned p = c.run(b.inline_program(*g, in), {"", "", ";m", "m"});
  EXPECT_EQ(collectives(p), (Texts{"all_reduce m 512", "all_reduce m 512"}));
  expect_right(c, p);
}

TEST(Partition, GradientsOfACutBatchAreReducedOnceEach) {
  Case c({{"d"}, {4}});
  Builder inner("loss");
  Value x = inner.input(f32_of({8, 6})), w = inner.input(f32_of({6, 3})),
        bias = inner.input(f32_of({3}));
  Value y = matmul(x, w);
  y = ops::add(y, ops::broadcast_in_dim(bias, y.shape(), {1}));
  const ProgramPtr f = inner.finish(Values{ops::reduce_sum(ops::mul(y, y), {0, 1})});
  const ProgramPtr g = vjp_program(*f, {false, true, true});
  Values in{c.input({8, 6}, "d"), c.input({6, 3}, ""), c.input({3}, ""), c.input(Shape{}, "")};
  const Partitioned p = c.run(c.b.inline_program(*g, in), {"", "", ""});
  std::int64_t gradients = 0;
  for (const CollectiveCause& cause : p.collectives) {
    EXPECT_EQ(cause.kind, MoveKind::all_reduce);
    if (!cause.whole.shape.empty()) gradients += cause.whole.bytes();
  }
  EXPECT_EQ(p.collectives.size(), 3u);
  EXPECT_EQ(gradients, (6 * 3 + 3) * 4);
  expect_right(c, p);
}

TEST(Partition, APartialSumDoesNotChooseByItself) {
  Case c(kTwo);
  Value x = c.input({8, 2}, ";x");
  Value sum = ops::reduce_sum(x, {1});
  const ops::WindowDims pairs{{2}, {2}, {0}, {0}, {1}, {1}};
  const Partitioned p = c.run({ops::select_and_gather_add(sum, sum, pairs)}, {""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 32"});
  expect_right(c, p);
}

TEST(Partition, LoopsCarryWhatLiesInParts) {
  Case c(kSquare);
  Value h = c.input({8, 4}, "x"), w = c.input({4, 4}, ";y"), xs = c.input({3, 8, 4}, ";x");
  const ProgramPtr body = propagation::body_of({{4, 4}, {8, 4}, {8, 4}}, [](Builder&, Values in) {
    Value next = ops::add(matmul(in[1], in[0]), in[2]);
    return Values{next, ops::reduce_sum(next, {1})};
  });
  Values out = ops::scan(body, Values{w}, Values{h}, Values{xs}, 3, false, c.b);
  const Partitioned p = c.run(out, {"x", "?"});
  for (const CollectiveCause& cause : p.collectives)
    if (cause.op != "output") {
      EXPECT_EQ(cause.times, 3) << to_string(c.mesh, cause);
    }
  EXPECT_FALSE(p.collectives.empty());
  expect_right(c, p);
}

TEST(Partition, WhatALoopAddsUpIsReducedBehindIt) {
  for (bool zero : {false, true}) {
    Case c(kTwo);
    Value w = c.input({16, 8}, ""), xs = c.input({4, 6, 16}, ";x"), start = c.input({16, 8}, "");
    const ProgramPtr body =
        propagation::body_of({{16, 8}, {16, 8}, {6, 16}}, [](Builder&, Values in) {
          Value y = matmul(in[2], in[0]);
          return Values{ops::add(in[1], matmul(ops::transpose(in[2], {1, 0}), y))};
        });
    if (zero) start = ops::zeros_like(start);
    Values out = ops::scan(body, Values{w}, Values{start}, Values{xs}, 4, false, c.b);
    const Partitioned p = c.run(out, {""});
    EXPECT_EQ(collectives(p), Texts{"all_reduce x 512"});
    expect_right(c, p);
  }
}

TEST(Partition, WhatLoopsInLoopsAddUpIsReducedBehindAllOfThem) {
  Case c(kTwo);
  Value xs = c.input({3, 2, 6, 16}, ";;x");
  const ProgramPtr inner = propagation::body_of({{16}, {6, 16}}, [](Builder&, Values in) {
    return Values{ops::add(in[0], ops::reduce_sum(in[1], {0}))};
  });
  const ProgramPtr outer = propagation::body_of({{16}, {2, 6, 16}}, [&](Builder& b, Values in) {
    return ops::scan(inner, Values{}, Values{in[0]}, Values{in[1]}, 2, false, b);
  });
  Value zero = ops::zeros(c.b, f32_of({16}));
  const Partitioned p =
      c.run(ops::scan(outer, Values{}, Values{zero}, Values{xs}, 3, true, c.b), {""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 64"});
  expect_right(c, p);
}

// One branch returns a partial sum, the other the value itself or zeros.
TEST(Partition, WhatBranchesInALoopAddUpIsReducedBehindIt) {
  for (bool zero : {false, true}) {
    Case c(kTwo);
    Value w = c.input({16}, ""), xs = c.input({4, 6, 16}, ";x"), start = c.input({16}, "");
    const ProgramPtr summed = propagation::body_of({{16}, {6, 16}}, [](Builder&, Values in) {
      return Values{ops::reduce_sum(ops::mul(in[1], in[1]), {0})};
    });
    const ProgramPtr other = propagation::body_of({{16}, {6, 16}}, [&](Builder&, Values in) {
      return Values{zero ? ops::zeros_like(in[0]) : in[0]};
    });
    const ProgramPtr body = propagation::body_of({{16}, {16}, {6, 16}}, [&](Builder&, Values in) {
      const Value total = ops::reduce_sum(in[0], {0});
      const Value which = ops::convert(ops::gt(total, ops::zeros_like(total)), DType::int32);
      const Value y = ops::cond(which, {summed, other}, Values{in[0], in[2]})[0];
      return Values{ops::add(in[1], y)};
    });
    const Partitioned p =
        c.run(ops::scan(body, Values{w}, Values{start}, Values{xs}, 4, false, c.b), {""});
    EXPECT_EQ(collectives(p), Texts{"all_reduce x 64"});
    expect_right(c, p);
  }
}

// A partial sum that is not added to another one is reduced in the branch that makes it, even
// though that branch may not run.
TEST(Partition, WhatABranchSumsIsReducedInIt) {
  Case c(kTwo);
  const Value w = c.input({16}, ""), x = c.input({6, 16}, "x");
  const ProgramPtr summed = propagation::body_of(
      {{16}, {6, 16}}, [](Builder&, Values in) { return Values{ops::reduce_sum(in[1], {0})}; });
  const ProgramPtr other =
      propagation::body_of({{16}, {6, 16}}, [](Builder&, Values in) { return Values{in[0]}; });
  const Value total = ops::reduce_sum(w, {0});
  const Value which = ops::convert(ops::gt(total, ops::zeros_like(total)), DType::int32);
  const Value y = ops::cond(which, {summed, other}, Values{w, x})[0];
  const Partitioned p = c.run({ops::mul(y, y)}, {""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 64"});
  const std::string text = tessera::to_string(*p.program);
  EXPECT_LT(text.find("= cond"), text.find("= psum")) << text;
  expect_right(c, p);
}

TEST(Partition, ASumThatEachTurnReadsIsReducedInIt) {
  Case c(kTwo);
  Value xs = c.input({4, 6, 16}, ";x"), start = c.input({16}, "");
  const ProgramPtr body = propagation::body_of({{16}, {6, 16}}, [](Builder&, Values in) {
    Value sum = ops::add(in[0], ops::reduce_sum(in[1], {0}));
    return Values{sum, ops::mul(sum, sum)};
  });
  const Partitioned p =
      c.run(ops::scan(body, Values{}, Values{start}, Values{xs}, 4, false, c.b), {"", ""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 64 * 4"});
  expect_right(c, p);
}

TEST(Partition, BranchesAndCallsGiveTheSameAnywhere) {
  Case c(kSquare);
  Value i = c.input(Type(DType::int32, {}), ""), x = c.input({8, 4}, "x;y");
  const ProgramPtr turn = propagation::body_of({{8, 4}}, [](Builder&, Values in) {
    return Values{ops::reshape(ops::transpose(in[0], {1, 0}), {8, 4})};
  });
  const ProgramPtr same = propagation::body_of(
      {{8, 4}}, [](Builder&, Values in) { return Values{ops::add(in[0], in[0])}; });
  Value y = ops::cond(i, {turn, same}, Values{x})[0];
  const Partitioned p = c.run({ops::remat(c.b, same, Values{y})[0]}, {"y"});
  for (std::int32_t k : {0, 1}) {
    std::vector<HostArray> in = drawn_inputs(*c.program);
    *in[0].data<std::int32_t>() = k;
    expect_right(*c.program, p, in);
  }
}

TEST(Partition, AWhileWhosePredicateIsASumOfParts) {
  Case c(kTwo);
  Value x = c.input({8}, "x");
  const ProgramPtr small = propagation::body_of({{8}}, [](Builder& b, Values in) {
    Value s = ops::reduce_max(in[0], {0});
    return Values{ops::lt(s, ops::scalar(b, DType::float32, 50))};
  });
  const ProgramPtr twice = propagation::body_of({{8}}, [](Builder&, Values in) {
    return Values{ops::add(in[0], ops::add(ops::reverse(in[0], {0}), ops::full_like(in[0], 1)))};
  });
  const Partitioned p = c.run(ops::while_(small, twice, Values{}, Values{}, Values{x}), {"x"});
  for (const CollectiveCause& cause : p.collectives) EXPECT_TRUE(cause.in_while);
  std::vector<HostArray> in = drawn_inputs(*c.program);
  in[0].data<float>()[3] = 3;
  expect_right(*c.program, p, in);
}

TEST(Partition, IsTheSameEveryTimeAndOnMeshesOfAnySize) {
  auto text = [](std::int64_t n) {
    Case c({{"x", "y"}, {n, n}});
    Value x = c.input({8192, 8192}, "x"), w1 = c.input({8192, 16384}, ";y"),
          w2 = c.input({16384, 8192}, "y");
    Value h = matmul(x, w1);
    h = ops::mul(h, ops::logistic(h));
    const Partitioned p = c.run({ops::reduce_sum(matmul(h, w2), {0, 1})});
    return tessera::to_string(*p.program);
  };
  EXPECT_EQ(text(2), text(2));
  const std::string small = text(2), large = text(64);
  EXPECT_EQ(std::count(small.begin(), small.end(), '\n'),
            std::count(large.begin(), large.end(), '\n'));
}
