// Whole programs with known collectives: data and sequence parallelism, sharded optimiser state,
// and the rows of src/spmd/known_cases.md that the other tests leave out.
#include "spmd/partition_check.h"
#include "transform/autodiff.h"

using namespace partitioning;
using propagation::f32_of;
using propagation::matmul;
using Texts = std::vector<std::string>;

namespace {

const MeshShape kTwo{{"x"}, {2}}, kThree{{"x"}, {3}}, kFour{{"x"}, {4}}, kGrid{{"x", "y"}, {2, 2}};

Value sliced(Value x, std::int64_t start, std::int64_t limit, std::int64_t stride = 1) {
  return ops::slice(x, {start}, {limit}, {stride});
}
Value relu(Value x) { return ops::max(x, ops::zeros_like(x)); }

// The bytes that the busiest device receives from others in all permutations. All devices send
// ranges of one length, some of them to themselves or to no device.
std::int64_t received(const Partitioned& p, std::int64_t devices) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(devices));
  const Program& body = body_of(p);
  for (const Equation& eqn : body.equations) {
    if (eqn.op->name != "ppermute_affine") continue;
    const std::int64_t step = eqn.attrs.i("step"), offset = eqn.attrs.i("offset"),
                       every = eqn.attrs.i("every");
    for (std::int64_t d = 0; d < devices; ++d) {
      const std::int64_t at = step * d + offset, source = at / every - (at % every < 0 ? 1 : 0);
      if (source >= 0 && source < devices && source != d)
        bytes[static_cast<std::size_t>(d)] += body.types[eqn.outputs[0]].bytes();
    }
  }
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

// A partial sum stays so until it is read: the product itself moves nothing.
TEST(KnownCases, AProductThatIsWantedPartialMovesNothing) {
  Case c(kTwo);
  Value a = c.input({8, 16}, ";x"), w = c.input({16, 8}, "x");
  const Partitioned p = c.run({matmul(a, w)}, {""});
  ASSERT_EQ(p.collectives.size(), 1u);
  EXPECT_EQ(p.collectives[0].op, "output");
  EXPECT_EQ(c.mesh.to_string(p.collectives[0].from), "P() unreduced {'x'}");
}

// Sequences are sharded between the products, features inside them.
TEST(KnownCases, SequencesAreGatheredAndScatteredOnceEachWay) {
  for (bool saved : {true, false}) {
    Case c({{"m"}, {2}});
    const auto layers = [&](Builder& b) {
      Value x = b.input(f32_of({2, 8, 16})), w1 = b.input(f32_of({16, 32})),
            w2 = b.input(f32_of({32, 16}));
      Value h = relu(ops::dot_general(x, w1, {{2}, {0}, {}, {}}));
      h = ops::sharding_constraint(h, c.ref(), spec(";;m"), {});
      return std::vector<Value>{ops::dot_general(h, w2, {{2}, {0}, {}, {}})};
    };
    Builder inner("block");
    const ProgramPtr f = inner.finish(layers(inner));
    Builder outer("loss");
    Values in{outer.input(f32_of({2, 8, 16})), outer.input(f32_of({16, 32})),
              outer.input(f32_of({32, 16}))};
    const ProgramPtr loss = saved ? f : outer.finish(ops::remat(outer, f, in));
    const ProgramPtr g = vjp_program(*loss, {true, true, true});
    Values all{c.input({2, 8, 16}, ";m"), c.input({16, 32}, ";m"), c.input({32, 16}, "m"),
               c.input({2, 8, 16}, ";m")};
    const Partitioned p = c.run(c.b.inline_program(*g, all), {";m", ";m", ";m", "m"});
    Texts moved{"all_gather m 512", "all_gather m 512", "reduce_scatter m 512",
                "reduce_scatter m 512"};
    if (!saved) moved.insert(moved.begin(), "all_gather m 512");
    EXPECT_EQ(collectives(p), moved) << saved;
    expect_right(c, p);
  }
}

// Parameters are replicated, and the state of the optimiser is sharded.
TEST(KnownCases, StateInPartsScattersGradientsAndGathersParameters) {
  Case c({{"d"}, {4}});
  Builder inner("loss");
  Value x = inner.input(f32_of({256, 16})), w1 = inner.input(f32_of({16, 32})),
        w2 = inner.input(f32_of({32, 16}));
  const ProgramPtr f = inner.finish(Values{matmul(relu(matmul(x, w1)), w2)});
  const ProgramPtr g = vjp_program(*f, {false, true, true});
  Values in{c.input({256, 16}, "d"), c.input({16, 32}, ""), c.input({32, 16}, ""),
            c.input({256, 16}, "d")};
  Value m1 = c.input({16, 32}, "d"), m2 = c.input({32, 16}, "d");
  Values out = c.b.inline_program(*g, in);
  m1 = ops::add(ops::mul(m1, ops::full_like(m1, 2)), out[1]);
  m2 = ops::add(ops::mul(m2, ops::full_like(m2, 2)), out[2]);
  const Partitioned p =
      c.run({ops::sub(in[1], m1), ops::sub(in[2], m2), m1, m2}, {"", "", "d", "d"});
  // Together these are the bytes of the two gradient sums that would be needed without them.
  EXPECT_EQ(collectives(p), (Texts{"all_gather d 1536", "all_gather d 1536",
                                   "reduce_scatter d 1536", "reduce_scatter d 1536"}));
  expect_right(c, p);
}

TEST(KnownCases, AMeanDividesByTheWhole) {
  for (std::int64_t n : {7, 3}) {
    Case c(kFour);
    Value x = c.constrain(c.input({n}, ""), "x");
    Value sum = ops::reduce_sum(ops::mul(x, ops::full_like(x, static_cast<double>(n))), {0});
    const Partitioned p = c.run({ops::div(sum, ops::full_like(sum, static_cast<double>(n)))}, {""});
    EXPECT_EQ(collectives(p), Texts{"all_reduce x 6"});
    expect_right(c, p);
  }
}

TEST(KnownCases, SlicesReceiveNoMoreThanTheirStretch) {
  const auto part = [](std::int64_t start, std::int64_t limit, std::int64_t stride) {
    Case c(kFour);
    Value x = c.input({16}, "x");
    Value y = c.constrain(sliced(x, start, limit, stride), "x");
    const Partitioned p = c.run({ops::reduce_sum(ops::mul(y, y), {0})}, {""});
    expect_right(c, p);
    return received(p, 4);
  };
  EXPECT_EQ(part(1, 16, 1), 4);
  EXPECT_EQ(part(0, 16, 3), 16);
  // Two elements are needed. All devices send ranges of one length, from which each takes its own
  // elements, because a shard with elements for two others cannot send both in one range as short.
  EXPECT_EQ(part(11, 16, 1), 16);
}

// Shards of 3 become shards of 4, and those of 256 become shards of 257, which begin at other
// positions. No constraint requests a sharding of 1026 elements.
TEST(KnownCases, APeriodicHaloOfOne) {
  for (std::int64_t n : {12, 1024}) {
    Case c(kFour);
    Value x = c.input({n}, "x");
    Value y = ops::concatenate(Values{sliced(x, n - 1, n), x, sliced(x, 0, 1)}, 0);
    if (n == 12) y = c.constrain(y, "x");
    const Partitioned p = c.run({ops::reduce_sum(ops::mul(y, y), {0})}, {""});
    EXPECT_EQ(collectives(p),
              (Texts{"all_reduce x 6", "permute x 12", "permute x 4", "permute x 8"}));
    expect_right(c, p);
  }
}

// Boundary rows are sent as for even shards; a kernel's gradient is computed whole.
TEST(KnownCases, UnevenConvolutions) {
  const auto moves = [](std::int64_t stride, std::int64_t low, std::int64_t high,
                        std::size_t which) {
    const ops::ConvDims dims{.strides = {stride},
                             .pad_low = {low},
                             .pad_high = {high},
                             .lhs_spec = {0, 2, 1},
                             .rhs_spec = {2, 1, 0},
                             .out_spec = {0, 2, 1}};
    Builder inner("f");
    Value x = inner.input(f32_of({2, 18, 3})), w = inner.input(f32_of({3, 3, 5}));
    const Value y = ops::convolution(x, w, dims);
    const Shape out = y.shape();
    const ProgramPtr g = vjp_program(*inner.finish(Values{y}), {true, true});
    Case c(kFour);
    Values in{c.constrain(c.input({2, 18, 3}, ""), ";x"), c.input({3, 3, 5}, ""),
              c.constrain(c.input(out, ""), ";x")};
    Value r = c.b.inline_program(*g, in)[which];
    if (which < 2) r = c.constrain(r, ";x");
    const Partitioned p = c.run({ops::reduce_sum(ops::mul(r, r), {0, 1, 2})}, {""});
    expect_right(c, p);
    return collectives(p);
  };
  EXPECT_EQ(moves(1, 1, 1, 0), (Texts{"all_reduce x 6", "permute x 24", "permute x 24"}));
  // 9 rows in shards of 3 read 7 of 18 in shards of 5: from the second shard on, one to three rows
  // of the next.
  EXPECT_EQ(moves(2, 0, 1, 0), (Texts{"all_reduce x 6", "permute x 72"}));
  EXPECT_EQ(moves(1, 1, 1, 1), (Texts{"all_reduce x 6", "permute x 40", "permute x 40"}));
  // Windows of shards of 5 begin at an element of the cotangent here and between two there.
  EXPECT_EQ(moves(2, 0, 1, 1), (Texts{"all_reduce x 6", "permute x 200"}));
  EXPECT_EQ(moves(1, 1, 1, 2), (Texts{"all_reduce x 270", "permute x 24", "permute x 24"}));
}

// The gradient of a kernel is a convolution whose kernel, the cotangent, is in uneven shards, some
// of them empty. Infinite elements affect exactly the same results as for the whole array: nothing
// is multiplied by padding.
TEST(KnownCases, UnevenKernelsAndInfiniteNeighbours) {
  for (auto [rows, stride, dilation] :
       {std::tuple<std::int64_t, std::int64_t, std::int64_t>{18, 1, 1},
        {19, 2, 1},
        {11, 1, 2},
        {9, 1, 1},
        {29, 3, 2}})
    for (bool planes : {false, true}) {
      SCOPED_TRACE(std::to_string(rows) + ", stride " + std::to_string(stride) + ", dilation " +
                   std::to_string(dilation) + (planes ? ", planes" : ""));
      ops::ConvDims dims{.strides = {stride},
                         .pad_low = {1},
                         .pad_high = {1},
                         .rhs_dilation = {dilation},
                         .lhs_spec = {0, 2, 1},
                         .rhs_spec = {2, 1, 0},
                         .out_spec = {0, 2, 1}};
      Shape x_shape{2, rows, 3}, w_shape{3, 3, 4};
      if (planes) {
        dims = {.strides = {stride, 1},
                .pad_low = {1, 1},
                .pad_high = {1, 1},
                .rhs_dilation = {dilation, 1},
                .lhs_spec = {0, 3, 1, 2},
                .rhs_spec = {3, 2, 0, 1},
                .out_spec = {0, 3, 1, 2}};
        x_shape = {2, rows, 13, 3};
        w_shape = {3, 3, 3, 4};
      }
      Builder inner("f");
      Value x = inner.input(f32_of(x_shape)), w = inner.input(f32_of(w_shape));
      const Value y = ops::convolution(x, w, dims);
      const Shape out = y.shape();
      const ProgramPtr g = vjp_program(*inner.finish(Values{y}), {false, true});
      Case c(planes ? MeshShape{{"x", "y"}, {4, 2}} : kFour);
      const char* where = planes ? ";x;y" : ";x";
      Values in{c.constrain(c.input(x_shape, ""), where), c.input(w_shape, ""),
                c.constrain(c.input(out, ""), where)};
      const Partitioned p = c.run({c.b.inline_program(*g, in)[1]}, {""});
      bool reduced = false;
      for (const CollectiveCause& cause : p.collectives)
        reduced = reduced || cause.kind == MoveKind::all_reduce;
      EXPECT_TRUE(reduced);
      std::vector<HostArray> inputs = drawn_inputs(*c.program);
      for (std::int64_t i = 0; i < inputs[2].count(); ++i)
        inputs[2].data<float>()[i] = static_cast<float>(i % 3 + 1);
      expect_right(*c.program, p, inputs);
      for (std::int64_t i = 0; i < inputs[0].count(); ++i)
        inputs[0].data<float>()[i] = i % 41 == 7 ? INFINITY : static_cast<float>(i % 5);
      expect_right(*c.program, p, inputs);
    }
}

TEST(KnownCases, ShapesWithoutElements) {
  Case c(kTwo);
  Value x = c.input({0, 4}, ";x");
  const Partitioned p = c.run({ops::reshape(x, {0})}, {""});
  EXPECT_EQ(collectives(p), Texts{});
  EXPECT_EQ(to_string(body_of(p)).find("all_gather"), std::string::npos);
  expect_right(c, p);
}

// Rows are looked up in their shard and summed, unless the table has fewer bytes than the sum.
TEST(KnownCases, ATableOfManyRowsIsNotGathered) {
  for (std::int64_t rows : {10, 100}) {
    Case c(kGrid);
    Value table = c.input({rows, 4}, "x;y"), ids = c.input(Type(DType::int32, {6}), "y");
    Value found = ops::gather(table, ids, {{1}, {0}, {}, {}, {0}, 1}, {1, 4}, "clip");
    const Partitioned p = c.run({found}, {"?"});
    // 52 B; a lookup and a sum of 6 x 2 floats take 60.
    EXPECT_EQ(collectives(p), rows == 10 ? (Texts{"all_gather x 40", "all_gather y 12"})
                                         : (Texts{"all_gather y 12", "all_reduce x 48"}));
    std::vector<HostArray> in = drawn_inputs(*c.program);
    const std::int32_t at[] = {-1, 10, 999, 0, 4, 5};
    std::copy_n(at, 6, in[1].data<std::int32_t>());
    expect_right(*c.program, p, in);
  }
}

// The rows and columns of a sum of updates are sharded over one axis: each is added once.
TEST(KnownCases, UpdatesAndOperandAlongOneAxis) {
  Case c(kTwo);
  Value table = c.input({10, 4}, "x"), ids = c.input(Type(DType::int32, {6}), "x"),
        rows = c.input({6, 4}, "x");
  Value g = ops::scatter("scatter_add", table, ids, rows, {{1}, {0}, {}, {}, {0}, 1}, "drop");
  const Partitioned p = c.run({g}, {"x"});
  EXPECT_EQ(collectives(p), (Texts{"all_gather x 12", "all_gather x 48"}));
  std::vector<HostArray> in = drawn_inputs(*c.program);
  const std::int32_t at[] = {9, 3, 3, 10, -1, 9};
  std::copy_n(at, 6, in[1].data<std::int32_t>());
  expect_right(*c.program, p, in);
}

TEST(KnownCases, BoxesOfEightOverFour) {
  for (std::int64_t size : {1, 3})
    for (std::int32_t start : {-9, -1, 0, 1, 2, 5, 7, 8, 99}) {
      Case c(kFour);
      Value x = c.input({8}, "x"), at = c.input(Type(DType::int32, {}), "");
      const Partitioned p = c.run({ops::dynamic_slice(x, Values{at}, {size})}, {""});
      EXPECT_EQ(collectives(p), Texts{"all_reduce x " + std::to_string(size * 4 * 2 * 3 / 4)});
      std::vector<HostArray> in = drawn_inputs(*c.program);
      *in[1].data<std::int32_t>() = start;
      expect_right(*c.program, p, in);
    }
}

// A box that no device has whole is summed where it is wanted; one that all devices have, or need
// entirely, is looked up.
TEST(KnownCases, BoxesThatAreWantedInParts) {
  for (const char* where : {"x", ""})
    for (std::int32_t start : {-1, 0, 3, 8, 99}) {
      Case c(kFour);
      Value x = c.input({16}, where), at = c.input(Type(DType::int32, {}), "");
      Value ids = c.input(Type(DType::int32, {8}), "x");
      Value box = ops::dynamic_slice(x, Values{at}, {8}),
            found = ops::gather(x, ids, {{}, {0}, {}, {}, {0}, 1}, {1}, "clip");
      const Partitioned p = c.run({box, found}, {"x", "x"});
      EXPECT_EQ(collectives(p),
                *where ? (Texts{"all_gather x 48", "reduce_scatter x 24"}) : Texts{});
      std::vector<HostArray> in = drawn_inputs(*c.program);
      *in[1].data<std::int32_t>() = start;
      expect_right(*c.program, p, in);
    }
}

TEST(KnownCases, TiesAndZerosAtTheEdgesOfUnevenParts) {
  const float inf = INFINITY, nan = std::nanf("");
  for (const std::vector<float>& row : {std::vector<float>{1, 2, 5, 5, 0, 5, 5, 1, 5},
                                        {0, -0.F, 0, -0.F, 0, 0, -0.F, 0, -0.F},
                                        {-0.F, 0, 0, 0, 0, 0, 0, 0, 0},
                                        {1, 5, 3, nan, 2, nan, 9, nan, 0},
                                        {-inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf}}) {
    Case c(kFour);
    Value x = c.constrain(c.input({9}, ""), "x"), labels = ops::iota(c.b, DType::int32, {9}, 0);
    Values sorted = ops::sort(Values{x, labels}, 0, 1);
    const Partitioned p =
        c.run({ops::argmax(x, 0), ops::argmin(x, 0), ops::top_k(x, 5)[1], sorted[1]});
    EXPECT_EQ(collectives(p), Texts{"all_gather x 36"});
    HostArray a(DType::float32, {9});
    std::copy(row.begin(), row.end(), a.data<float>());
    expect_right(*c.program, p, {a});
  }
}

// A carry has the sharding of the body's result and is resharded once; if the body requests the
// other axis first, each iteration reshards it.
TEST(KnownCases, ACarryIsBroughtBackWhereTheBodyAsksForThat) {
  for (bool asks : {false, true}) {
    Case c(kGrid);
    Value x = c.input({8, 4}, "x"), n = c.input(Type(DType::int32, {}), "");
    const Value y = c.repeated(x, n, [&](Value v) {
      if (asks) v = c.constrain(v, "x");
      return c.constrain(ops::add(v, v), "y");
    });
    const Partitioned p = c.run({y}, {"x"});
    std::int64_t bytes = 0;
    for (const CollectiveCause& cause : p.collectives) {
      EXPECT_EQ(cause.in_while, asks);
      bytes += cause.bytes;
    }
    EXPECT_EQ(bytes, 2 * 64) << asks;
    if (!asks) {
      EXPECT_EQ(collectives(p), Texts(2, "permute x y 64"));
    }
    std::vector<HostArray> numbers = drawn_inputs(*c.program);
    *numbers[1].data<std::int32_t>() = 3;
    expect_right(*c.program, p, numbers);
  }
}

TEST(KnownCases, DifferencesKeepTheirOrder) {
  Case c(kFour);
  Value x = c.input({16}, "x");
  Value y = c.constrain(ops::sub(sliced(x, 1, 16), sliced(x, 0, 15)), "x");
  const Partitioned p = c.run({ops::mul(y, ops::iota(c.b, DType::float32, {15}, 0))}, {""});
  EXPECT_EQ(collectives(p), (Texts{"all_gather x 48", "permute x 4"}));
  expect_right(c, p);
}

TEST(KnownCases, ProductsWhoseOperandsWantOneAxis) {
  Case c(kTwo);
  Value a = c.input({2, 8}, "x"), w = c.input({8, 2}, ";x");
  const Partitioned p = c.run({matmul(a, w)}, {"?"});
  EXPECT_EQ(collectives(p), Texts{"all_gather x 32"});
  expect_right(c, p);
  Case d(kTwo);
  Value u = d.input({4, 6, 8}, "x"), v = d.input({4, 8, 3}, ";x");
  const Partitioned q = d.run({ops::dot_general(u, v, {{2}, {1}, {0}, {0}})}, {"?"});
  EXPECT_EQ(collectives(q), Texts{"all_to_all x 96"});
  expect_right(d, q);
}
