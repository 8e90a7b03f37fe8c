// Intermediate values whose sizes the devices do not divide: they stay sharded, the bytes that move
// are known exactly, and the padding, which is NaN here, never shows in a result.
#include "spmd/partition_check.h"
#include "transform/autodiff.h"

using namespace partitioning;
using propagation::f32_of;
using propagation::matmul;
using Texts = std::vector<std::string>;

namespace {

const MeshShape kTwo{{"x"}, {2}}, kThree{{"x"}, {3}}, kFour{{"x"}, {4}}, kGrid{{"x", "y"}, {2, 2}};

// The collectives for f of a replicated value that is then sharded, if the result is wanted
// replicated.
Texts moves(const MeshShape& mesh, Shape shape, const char* cut,
            const std::function<Value(Case&, Value)>& f) {
  Case c(mesh);
  Value x = c.input(std::move(shape), "");
  const Value y = f(c, c.constrain(x, cut));
  const Partitioned p = c.run({y}, {""});
  expect_right(c, p);
  return collectives(p);
}
Value squares(Value x) {
  Ints all;
  for (int d = 0; d < x.rank(); ++d) all.push_back(d);
  return ops::reduce_sum(ops::mul(x, x), all);
}
Value sliced(Value x, std::int64_t start, std::int64_t limit, std::int64_t stride = 1) {
  return ops::slice(x, {start}, {limit}, {stride});
}

}  // namespace

TEST(PartitionUneven, SumsCountElementsOnly) {
  for (std::int64_t n : {7, 3, 5, 9}) {
    EXPECT_EQ(moves(kFour, {n}, "x", [](Case&, Value x) { return squares(x); }),
              Texts{"all_reduce x 6"})
        << n;
    EXPECT_EQ(moves(kFour, {n}, "x", [](Case&, Value x) { return ops::reduce_max(x, {0}); }),
              Texts{"all_reduce x 6"})
        << n;
    EXPECT_EQ(moves(kFour, {n}, "x",
                    [](Case&, Value x) {
                      return ops::reduce_and(ops::le(x, ops::full_like(x, 1)), {0});
                    }),
              Texts{"all_reduce x 2"})
        << n;
  }
}

TEST(PartitionUneven, AVarianceDividesByTheWhole) {
  const Texts moved = moves(kFour, {7}, "x", [](Case& c, Value x) {
    // Seven times the differences, which are integers.
    const Value seven = ops::scalar(c.b, DType::float32, 7), sum = ops::reduce_sum(x, {0});
    const Value all = ops::sub(ops::mul(x, ops::broadcast_in_dim(seven, {7}, {})),
                               ops::broadcast_in_dim(sum, {7}, {}));
    return ops::div(squares(all), ops::mul(seven, ops::mul(seven, seven)));
  });
  EXPECT_EQ(moved, Texts(2, "all_reduce x 6"));
}

TEST(PartitionUneven, ContractionsMultiplyElementsOnly) {
  Case c(kFour);
  Value a = c.input({5, 7}, ""), w = c.input({7, 3}, "");
  const Partitioned p = c.run({matmul(c.constrain(a, ";x"), c.constrain(w, "x"))}, {""});
  EXPECT_EQ(collectives(p), Texts{"all_reduce x 90"});
  // 90 = 2 x 3/4 of the 5 x 3 floats.
  expect_right(c, p);
}

TEST(PartitionUneven, AVocabularyOf65IsCutOver4) {
  Case c(kFour);
  Value x = c.input({8, 16}, ""), w = c.input({16, 65}, ""), labels = c.input({8, 65}, "");
  const Value logits = matmul(x, c.constrain(w, ";x"));
  const auto wide = [&](Value row) { return ops::broadcast_in_dim(row, {8, 65}, {0}); };
  const Value top = ops::reduce_max(logits, {1}), shifted = ops::sub(logits, wide(top)),
              sum = ops::reduce_sum(shifted, {1}),
              picked = ops::reduce_sum(ops::mul(logits, labels), {1});
  const Partitioned p = c.run({sum, picked}, {"", ""});
  // 8 floats to each other device, and back.
  EXPECT_EQ(collectives(p), Texts(3, "all_reduce x 48"));
  expect_right(c, p);
}

TEST(PartitionUneven, SlicesFetchWhatTheyNeed) {
  const auto part = [](std::int64_t start, std::int64_t limit, std::int64_t stride) {
    Case c(kFour);
    Value x = c.input({16}, "x");
    const Partitioned p = c.run({squares(c.constrain(sliced(x, start, limit, stride), "x"))}, {""});
    expect_right(c, p);
    return collectives(p);
  };
  EXPECT_EQ(part(0, 15, 1), Texts{"all_reduce x 6"});
  EXPECT_EQ(part(1, 16, 1), (Texts{"all_reduce x 6", "permute x 4"}));
  EXPECT_EQ(part(0, 16, 3), (Texts{"all_reduce x 6", "permute x 16"}));
  EXPECT_EQ(part(11, 16, 1), (Texts{"all_reduce x 6", "permute x 12", "permute x 4"}));
}

TEST(PartitionUneven, PadsPutTheirValueBehindTheEnd) {
  const auto padded = [](const MeshShape& mesh, std::int64_t n, std::int64_t low, std::int64_t high,
                         std::int64_t interior) {
    return moves(mesh, {n}, "x", [&](Case& c, Value x) {
      const Value seven = ops::scalar(c.b, DType::float32, 7);
      return squares(c.constrain(ops::pad(x, seven, {low}, {high}, {interior}), "x"));
    });
  };
  EXPECT_EQ(padded(kTwo, 5, 0, 1, 0), Texts{"all_reduce x 4"});
  EXPECT_EQ(padded(kTwo, 5, 1, 1, 0), Texts{"all_reduce x 4"});
  EXPECT_EQ(padded(kTwo, 5, 0, 4, 0), (Texts{"all_reduce x 4", "permute x 8"}));
  // Shards of odd extents would begin at an element here and between two there, so the array is
  // first padded between elements.
  EXPECT_EQ(padded(kTwo, 5, 3, 1, 1), (Texts{"all_reduce x 4", "permute x 8"}));
  EXPECT_EQ(padded(kTwo, 9, -2, 0, 0), (Texts{"all_reduce x 4", "permute x 4"}));
}

TEST(PartitionUneven, MirrorsTakeTwoPermutations) {
  const auto mirrored = [](std::int64_t n) {
    return moves(kFour, {n}, "x", [](Case& c, Value x) {
      const Value y = ops::reverse(x, {0});
      return squares(ops::add(y, ops::iota(c.b, DType::float32, y.shape(), 0)));
    });
  };
  EXPECT_EQ(mirrored(8), (Texts{"all_reduce x 6", "permute x 8"}));
  EXPECT_EQ(mirrored(10), (Texts{"all_reduce x 6", "permute x 4", "permute x 8"}));
}

TEST(PartitionUneven, APeriodicHaloStaysInParts) {
  Case c(kFour);
  Value x = c.input({12}, "x");
  const Value y = ops::concatenate(Values{sliced(x, 10, 12), x, sliced(x, 0, 2)}, 0);
  const Partitioned p = c.run({squares(c.constrain(y, "x"))}, {""});
  expect_right(c, p);
  for (const CollectiveCause& cause : p.collectives) EXPECT_LE(cause.bytes, 12);
}

TEST(PartitionUneven, AValidConvolutionFetchesItsNeighboursRows) {
  Case c(kFour);
  Value x = c.input({2, 32, 3}, ";x"), w = c.input({3, 3, 5}, "");
  const Value y = ops::convolution(x, w,
                                   {.strides = {1},
                                    .pad_low = {0},
                                    .pad_high = {0},
                                    .lhs_spec = {0, 2, 1},
                                    .rhs_spec = {2, 1, 0},
                                    .out_spec = {0, 2, 1}});
  const Partitioned p = c.run({squares(y)}, {""});
  // 30 rows in shards of 8, which read two rows of the next shard: 2 x 2 x 3 floats.
  EXPECT_EQ(collectives(p), (Texts{"all_reduce x 6", "permute x 48"}));
  expect_right(c, p);
}

TEST(PartitionUneven, LargestElementsOfWindows) {
  const ops::WindowDims three{{3}, {2}, {1}, {1}, {1}, {1}};
  const Texts moved = moves(kFour, {13}, "x", [&](Case& c, Value x) {
    const Value least = ops::sub(ops::neg(ops::mul(x, x)), ops::full_like(x, 5));
    return squares(c.constrain(ops::reduce_window("reduce_window_max", least, three), "x"));
  });
  EXPECT_EQ(moved, (Texts{"all_reduce x 6", "permute x 4"}));
  Builder b("pool");
  const ProgramPtr pool =
      b.finish(Values{ops::reduce_window("reduce_window_max", b.input(f32_of({13})), three)});
  const ProgramPtr g = vjp_program(*pool, {true});
  Case c(kFour);
  Value x = c.input({13}, ""), ct = c.input({7}, "");
  const Partitioned p =
      c.run(c.b.inline_program(*g, Values{c.constrain(x, "x"), c.constrain(ct, "x")}), {""});
  expect_right(c, p);
}

TEST(PartitionUneven, WindowsOverNoElements) {
  Case c(kTwo);
  const ops::WindowDims pairs{{1, 2}, {1, 1}, {0, 1}, {0, 2}, {1, 1}, {1, 1}};
  Value x = c.input({2, 0}, ""), tangent = c.input({2, 0}, "");
  const Value wanted = c.constrain(ops::select_and_gather_add(x, tangent, pairs), ";x");
  const Partitioned p = c.run({wanted}, {""});
  expect_right(c, p);
}

TEST(PartitionUneven, ShapesThatTheDevicesDoNotDivide) {
  const auto reshaped = [](const MeshShape& mesh, Shape from, const char* cut, Shape to,
                           const char* then) {
    return moves(mesh, from, cut, [&](Case& c, Value x) {
      const Value y = c.constrain(ops::reshape(x, to), then);
      return squares(ops::add(y, ops::iota(c.b, DType::float32, to, to.rank() - 1)));
    });
  };
  EXPECT_EQ(reshaped(kFour, {7, 1}, "x", {7}, "x"), Texts{"all_reduce x 6"});
  EXPECT_EQ(reshaped(kTwo, {6, 7}, "x", {42}, "x"), Texts{"all_reduce x 4"});
  reshaped(kFour, {12}, "x", {3, 4}, "x");
  reshaped(kThree, {6, 4}, "x", {4, 6}, "x");
  reshaped(kTwo, {7, 5}, "x", {35}, "x");
  reshaped(kFour, {24}, "x", {6, 4}, "x");
}

TEST(PartitionUneven, OrdersAndRunningTotals) {
  const auto along = [](const std::function<Value(Value)>& f, std::int64_t n = 9) {
    return moves(kFour, {n}, "x", [&](Case&, Value x) { return f(x); });
  };
  for (bool greatest : {true, false})
    EXPECT_EQ(along([&](Value x) { return greatest ? ops::argmax(x, 0) : ops::argmin(x, 0); }),
              Texts(2, "all_reduce x 6"));
  EXPECT_EQ(along([](Value x) { return ops::top_k(x, 5)[0]; }), Texts{"all_gather x 36"});
  along([](Value x) { return ops::sort(Values{x}, 0)[0]; });
  for (bool reverse : {false, true})
    EXPECT_EQ(along([&](Value x) { return squares(ops::cumsum(x, 0, reverse)); }, 10),
              (Texts{"all_gather x 12", "all_reduce x 6"}))
        << reverse;
  for (bool reverse : {false, true}) {
    along([&](Value x) { return squares(ops::cummax(x, 0, reverse)); }, 10);
    along([&](Value x) { return squares(ops::cumprod(x, 0, reverse)); }, 10);
  }
}

TEST(PartitionUneven, BestElementsAreElements) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (float all : {-infinity, infinity, std::numeric_limits<float>::quiet_NaN()})
    for (bool greatest : {true, false}) {
      Case c(kFour);
      Value x = c.constrain(c.input({9}, ""), "x");
      const Partitioned p = c.run({greatest ? ops::argmax(x, 0) : ops::argmin(x, 0)}, {""});
      HostArray a(DType::float32, {9});
      std::fill_n(a.data<float>(), 9, all);
      expect_right(*c.program, p, {a});
    }
}

TEST(PartitionUneven, LookupsInATableOfTenRowsOverFour) {
  for (const char* mode : {"clip", "fill", "zero"}) {
    Case c({{"x", "y"}, {4, 2}});
    Value table = c.input({10, 4}, ""), ids = c.input(Type(DType::int32, {4}), "");
    table = c.constrain(table, "x;y");
    Value rows = ops::gather(table, ids, {{1}, {0}, {}, {}, {0}, 1}, {1, 4}, mode);
    const Partitioned p = c.run({rows}, {";y"});
    EXPECT_EQ(collectives(p), Texts{"all_reduce x 48"}) << mode;
    std::vector<HostArray> in = drawn_inputs(*c.program);
    const std::int32_t at[] = {-1, 10, 9, 11};
    std::copy_n(at, 4, in[1].data<std::int32_t>());
    const HostArray whole = evaluate(*c.program, in)[0], got = evaluate(*p.program, in)[0];
    for (std::int64_t i = 0; i < whole.count(); ++i) {
      const double w = whole.number(i), g = got.number(i);
      EXPECT_TRUE(w == g || (w != w && g != g)) << mode << " " << i << ": " << g;
    }
  }
}

TEST(PartitionUneven, UpdatesBehindTheEndAreNone) {
  Case c(kGrid);
  Value table = c.input({9, 4}, ""), ids = c.input(Type(DType::int32, {23}), ""),
        rows = c.input({23, 4}, "");
  Value g = ops::scatter("scatter_add", c.constrain(table, "x"), c.constrain(ids, "y"),
                         c.constrain(rows, "y"), {{1}, {0}, {}, {}, {0}, 1}, "drop");
  const Partitioned p = c.run({squares(c.constrain(g, "x"))}, {""});
  std::vector<HostArray> in = drawn_inputs(*c.program);
  const std::int32_t at[] = {8, 3, 3, 9, -1, 8, 10, 5};
  std::copy_n(at, 8, in[1].data<std::int32_t>() + 9);
  expect_right(*c.program, p, in);
}

TEST(PartitionUneven, PositionsAtTheEdgesOfParts) {
  for (std::int32_t start : {-1, 0, 1, 2, 3, 8, 10, 11, 99}) {
    Case c(kFour);
    Value x = c.constrain(c.input({13}, ""), "x"), at = c.input(Type(DType::int32, {}), "");
    const Value box = ops::dynamic_slice(x, Values{at}, {3});
    const Value y = ops::dynamic_update_slice(x, ops::neg(box), Values{at});
    const Partitioned p = c.run({box, squares(ops::add(y, ops::full_like(y, 1)))}, {"", ""});
    std::vector<HostArray> in = drawn_inputs(*c.program);
    *in[1].data<std::int32_t>() = start;
    expect_right(*c.program, p, in);
  }
}

TEST(PartitionUneven, CountersAreThoseOfTheWhole) {
  Case c({{"x", "y"}, {2, 3}});
  const Shape shape{7, 5};
  Value x = c.constrain(c.input(shape, ""), "x;y");
  const Value row = ops::iota(c.b, DType::int32, shape, 0),
              column = ops::iota(c.b, DType::int32, shape, 1),
              key = ops::full(c.b, DType::uint32, shape, 7);
  const Value count =
      ops::convert(ops::add(ops::mul(row, ops::full_like(row, 5)), column), DType::uint32);
  const Value bits = ops::threefry2x32(key, key, count, count)[0];
  const Value low = ops::select(ops::ge(row, column), x, ops::zeros_like(x));
  const Value small = ops::convert(ops::rem(bits, ops::full_like(bits, 8)), DType::float32);
  const Partitioned p = c.run({squares(c.constrain(ops::add(low, small), "x;y"))}, {""});
  EXPECT_EQ(p.collectives.size(), 1u);
  expect_right(c, p);
}

TEST(PartitionUneven, LayoutsChangeWithoutBeingGathered) {
  const auto moved = [](const MeshShape& mesh, Shape shape, const char* from, const char* to) {
    Case c(mesh);
    Value x = c.input(std::move(shape), "");
    const Value y = c.constrain(ops::neg(c.constrain(x, from)), to);
    const Partitioned p = c.run({squares(y)}, {""});
    expect_right(c, p);
    Texts all = collectives(p);
    std::erase_if(all, [](const std::string& s) { return s.starts_with("all_reduce"); });
    return all;
  };
  EXPECT_EQ(moved(kFour, {7, 6}, "x", ";x"), Texts{"all_to_all x 48"});
  EXPECT_EQ(moved(kGrid, {8}, "x", "y"), moved(kGrid, {7}, "x", "y"));
  EXPECT_EQ(moved(kGrid, {7}, "x,y", "x"), Texts{"all_gather y 8"});
  // Shards of 2, 2, 1 and 0 rows are not halves of 3 and 2.
  EXPECT_EQ(moved(kGrid, {5}, "x,y", "x"), Texts{"all_gather x y 24"});
}

TEST(PartitionUneven, LoopsAndBranchesCarryUnevenParts) {
  Case c(kFour);
  Value i = c.input(Type(DType::int32, {}), ""), h = c.input({7}, ""), xs = c.input({3, 7}, "");
  const ProgramPtr body = propagation::body_of({{7}, {7}}, [](Builder& b, Values in) {
    const Value total = ops::reduce_sum(ops::mul(in[0], in[1]), {0});
    const Value next = ops::add(ops::reverse(in[0], {0}), in[1]);
    return Values{ops::sub(next, ops::iota(b, DType::float32, {7}, 0)), total};
  });
  const Values out =
      ops::scan(body, Values{}, Values{c.constrain(h, "x")}, Values{xs}, 3, false, c.b);
  const ProgramPtr same = propagation::body_of({{7}}, [](Builder&, Values in) { return in; });
  const ProgramPtr twice = propagation::body_of(
      {{7}}, [](Builder&, Values in) { return Values{ops::add(in[0], in[0])}; });
  const Value y = ops::cond(i, {same, twice}, Values{out[0]})[0];
  const Partitioned p = c.run({squares(y), out[1]}, {"", ""});
  bool inside = false;
  for (const CollectiveCause& cause : p.collectives) inside = inside || cause.times == 3;
  EXPECT_TRUE(inside);
  for (std::int32_t k : {0, 1}) {
    std::vector<HostArray> in = drawn_inputs(*c.program);
    *in[0].data<std::int32_t>() = k;
    expect_right(*c.program, p, in);
  }
}

TEST(PartitionUneven, SixHeadsOverFourDevices) {
  Builder inner("attention");
  Value x = inner.input(f32_of({2, 5, 12})), wq = inner.input(f32_of({12, 6, 2})),
        wo = inner.input(f32_of({6, 2, 12}));
  const MeshRef mesh(DeviceMesh{kFour, {}});
  const Value q =
      ops::sharding_constraint(ops::dot_general(x, wq, {{2}, {0}, {}, {}}), mesh, spec(";;x"), {});
  const Value scores = ops::dot_general(q, q, {{3}, {3}, {0, 2}, {0, 2}});
  const Value mixed = ops::dot_general(scores, q, {{3}, {1}, {0, 1}, {0, 2}});
  const Value out = ops::dot_general(mixed, wo, {{1, 3}, {0, 1}, {}, {}});
  const ProgramPtr g = vjp_program(*inner.finish(Values{out}), {true, true, true});
  Case c(kFour);
  const Values in{c.input({2, 5, 12}, ""), c.input({12, 6, 2}, ""), c.input({6, 2, 12}, ""),
                  c.input({2, 5, 12}, "")};
  const Partitioned p = c.run(c.b.inline_program(*g, in));
  EXPECT_FALSE(p.collectives.empty());
  std::vector<HostArray> numbers;
  std::uint32_t seed = 3;
  for (Var v : c.program->inputs) numbers.push_back(whole_numbers(c.program->types[v], seed++, 3));
  expect_right(*c.program, p, numbers);
}

TEST(PartitionUneven, AProgramDoesNotGrowWithTheDevices) {
  const auto lines = [](std::int64_t n) {
    Case c({{"x"}, {n}});
    Value x = c.constrain(c.input({64 * n - 1, 8}, ""), "x"), w = c.input({8, 64 * n - 1}, "");
    const Partitioned p = c.run({squares(matmul(w, ops::reverse(x, {0})))}, {""});
    const std::string text = tessera::to_string(*p.program);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines(4), lines(64));
}
