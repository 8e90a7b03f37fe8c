// Sharded dimensions along which an op's windows, positions or order cross shards: the exact bytes
// that move, and the values of one device.
#include "spmd/partition_check.h"
#include "transform/autodiff.h"

using namespace partitioning;
using propagation::f32_of;
using Texts = std::vector<std::string>;

namespace {

const MeshShape kTwo{{"x"}, {2}}, kThree{{"x"}, {3}}, kFour{{"x"}, {4}}, kGrid{{"x", "y"}, {2, 2}};

// The collectives for f of one operand with one sharding, if the result is wanted with another.
Texts moves(const MeshShape& mesh, Shape shape, const char* from,
            const std::function<Value(Value)>& f, const char* to) {
  Case c(mesh);
  Value x = c.input(std::move(shape), from);
  const Partitioned p = c.run({f(x)}, {to});
  expect_right(c, p);
  return collectives(p);
}
Texts sliced(const MeshShape& mesh, std::int64_t n, Ints start, Ints limit, Ints strides) {
  return moves(
      mesh, {n}, "x", [&](Value x) { return ops::slice(x, start, limit, strides); }, "x");
}
Value zero(Value x) { return ops::scalar(*x.builder, x.dtype(), 0); }

ops::ConvDims conv(std::int64_t stride, std::int64_t low, std::int64_t high,
                   std::int64_t groups = 1) {
  return {.strides = {stride},
          .pad_low = {low},
          .pad_high = {high},
          .lhs_spec = {0, 2, 1},
          .rhs_spec = {2, 1, 0},
          .out_spec = {0, 2, 1},
          .feature_groups = groups};
}

// The gradients of the sum of f's result times a cotangent, sharded.
Texts gradient_moves(const MeshShape& mesh, const std::vector<Shape>& shapes,
                     const std::vector<std::string>& where, const char* out,
                     const std::function<Value(const Values&)>& f) {
  Builder inner("f");
  Values in;
  for (const Shape& s : shapes) in.push_back(inner.input(f32_of(s)));
  const Value y = f(in);
  const Shape result = y.shape();
  const ProgramPtr g =
      vjp_program(*inner.finish(Values{y}), std::vector<bool>(shapes.size(), true));
  Case c(mesh);
  Values all;
  for (std::size_t i = 0; i < shapes.size(); ++i) all.push_back(c.input(shapes[i], where[i]));
  all.push_back(c.input(result, out));
  std::vector<std::string> wanted{out};
  wanted.insert(wanted.end(), where.begin(), where.end());
  const Partitioned p = c.run(c.b.inline_program(*g, all), wanted);
  expect_right(c, p);
  return collectives(p);
}

}  // namespace

TEST(PartitionWindows, SlicesFetchWhatTheyNeed) {
  EXPECT_EQ(sliced(kFour, 16, {0}, {16}, {2}), Texts{});
  EXPECT_EQ(sliced(kFour, 16, {1}, {16}, {2}), Texts{});
  EXPECT_EQ(sliced(kFour, 16, {4}, {12}, {1}), Texts{"permute x 16"});
  EXPECT_EQ(sliced(kFour, 16, {1}, {13}, {1}), Texts{"permute x 8"});
  EXPECT_EQ(sliced(kTwo, 12, {2}, {12}, {1}), Texts{"permute x 4"});
  EXPECT_EQ(sliced(kThree, 27, {2}, {27}, {3}), Texts{});
}

TEST(PartitionWindows, PadsFetchWhatTheyNeed) {
  auto padded = [](const MeshShape& mesh, std::int64_t n, std::int64_t low, std::int64_t high,
                   std::int64_t interior) {
    return moves(
        mesh, {n}, "x",
        [&](Value x) {
          return ops::pad(x, ops::scalar(*x.builder, x.dtype(), 7), {low}, {high}, {interior});
        },
        "x");
  };
  EXPECT_EQ(padded(kTwo, 6, 3, 2, 1), Texts{});
  EXPECT_EQ(padded(kFour, 8, 0, 8, 0), Texts(2, "permute x 8"));
  EXPECT_EQ(padded(kFour, 16, -4, -4, 0), Texts{"permute x 16"});
  EXPECT_EQ(padded(kFour, 16, 1, -1, 0), Texts{"permute x 4"});
  // Shards of odd extents begin at an element here and between two there. The array is first padded
  // between elements, unless that is more per device than the whole array.
  EXPECT_EQ(padded(kTwo, 6, 3, 0, 1), Texts{"permute x 8"});
  EXPECT_EQ(padded(kTwo, 6, 3, 1, 2), Texts{"all_gather x 12"});
}

TEST(PartitionWindows, AMirrorIsOnePermutation) {
  auto turned = [](const MeshShape& mesh, Shape s, const char* where, const Ints& dims) {
    return moves(
        mesh, std::move(s), where, [&](Value x) { return ops::reverse(x, dims); }, where);
  };
  EXPECT_EQ(turned(kFour, {8}, "x", {0}), Texts{"permute x 8"});
  EXPECT_EQ(turned(kThree, {9, 2}, "x", {0, 1}), Texts{"permute x 24"});
  EXPECT_EQ(turned(kGrid, {8}, "x,y", {0}), Texts{"permute x y 8"});
  EXPECT_EQ(turned(kGrid, {4, 4}, "x;y", {0, 1}), (Texts{"permute x 16", "permute y 16"}));
}

TEST(PartitionWindows, PiecesOneBehindTheOtherGoWhereTheyAreTo) {
  Case c(kFour);
  Value x = c.input({8}, "x"), y = c.input({8}, "x");
  const Partitioned p = c.run({ops::concatenate(Values{x, y}, 0)}, {"x"});
  EXPECT_EQ(collectives(p), Texts(4, "permute x 8"));
  expect_right(c, p);
}

TEST(PartitionWindows, ARollSendsEachBlockOnce) {
  auto rolled = [](const MeshShape& mesh, std::int64_t n, std::int64_t by) {
    return moves(
        mesh, {n}, "x",
        [&](Value x) {
          return ops::concatenate(
              Values{ops::slice(x, {n - by}, {n}, {1}), ops::slice(x, {0}, {n - by}, {1})}, 0);
        },
        "x");
  };
  EXPECT_EQ(rolled(kFour, 12, 3), Texts(2, "permute x 12"));
  EXPECT_EQ(rolled(kFour, 16, 1), Texts(2, "permute x 4"));
  EXPECT_EQ(rolled(kTwo, 8, 3), Texts(2, "permute x 12"));
  const auto by_one = [](const Values& in) {
    return ops::concatenate(
        Values{ops::slice(in[0], {15}, {16}, {1}), ops::slice(in[0], {0}, {15}, {1})}, 0);
  };
  EXPECT_EQ(gradient_moves(kFour, {{16}}, {"x"}, "x", by_one), Texts(4, "permute x 4"));
}

// Partitioned, each of these pieces would cost every device as much as its shard of the result.
TEST(PartitionWindows, ManyPiecesArePutTogetherWhole) {
  for (std::int64_t n : {36, 400}) {
    Case c(kFour);
    Value x = c.input({16}, "x");
    Values pieces;
    for (std::int64_t i = 0; i < n; ++i) pieces.push_back(ops::slice(x, {i % 9}, {i % 9 + 7}, {1}));
    const Partitioned p = c.run({ops::concatenate(pieces, 0)}, {"x"});
    EXPECT_EQ(collectives(p), Texts{"all_gather x 48"}) << n;
    EXPECT_LE(body_of(p).equations.size(), static_cast<std::size_t>(n + 16)) << n;
    expect_right(c, p);
  }
}

TEST(PartitionWindows, ARollInALoopSendsEachBlockOnceATurn) {
  Case c(kFour);
  Value x = c.input({16}, "x");
  const ProgramPtr turn = propagation::body_of({{16}}, [](Builder&, Values in) {
    return Values{ops::concatenate(
        Values{ops::slice(in[0], {1}, {16}, {1}), ops::slice(in[0], {0}, {1}, {1})}, 0)};
  });
  const Partitioned p = c.run(ops::scan(turn, Values{}, Values{x}, Values{}, 3, false, c.b), {"x"});
  EXPECT_EQ(collectives(p), Texts(2, "permute x 4 * 3"));
  expect_right(c, p);
}

TEST(PartitionWindows, AConvolutionExchangesRowsAtTheCuts) {
  auto convolved = [](std::int64_t stride, std::int64_t low, std::int64_t high) {
    Case c(kFour);
    Value x = c.input({2, 16, 3}, ";x"), w = c.input({3, 3, 5}, "");
    const Partitioned p = c.run({ops::convolution(x, w, conv(stride, low, high))}, {";x"});
    expect_right(c, p);
    return collectives(p);
  };
  EXPECT_EQ(convolved(1, 1, 1), Texts(2, "permute x 24"));
  EXPECT_EQ(convolved(2, 0, 1), Texts{"permute x 24"});
}

TEST(PartitionWindows, WhatEveryDeviceHasIsNotFetched) {
  for (std::int64_t n : {16, 18}) {  // axes divide the one, not the other
    Case c(kFour);
    Value x = c.input({2, n, 3}, ""), w = c.input({3, 3, 5}, "");
    const std::int64_t edge = (18 - n) / 2;
    const Partitioned p = c.run({ops::convolution(x, w, conv(1, edge, edge))}, {";x"});
    EXPECT_EQ(collectives(p), Texts{});
    const std::string text = tessera::to_string(body_of(p));
    EXPECT_NE(text.find("f32[2,4,5]{varying: x} = convolution"), std::string::npos) << text;
    expect_right(c, p);
  }
}

TEST(PartitionWindows, ADepthwiseConvolutionOfCutChannelsMovesNothing) {
  Case c(kFour);
  Value x = c.input({2, 6, 8}, ";;x"), w = c.input({3, 1, 8}, ";;x");
  const Partitioned p = c.run({ops::convolution(x, w, conv(1, 1, 1, 8))}, {";;x"});
  EXPECT_EQ(collectives(p), Texts{});
  expect_right(c, p);
}

TEST(PartitionWindows, AKernelsGradientIsReducedOnce) {
  for (std::int64_t stride : {1, 2}) {
    const Shape out{2, 16 / stride, 5};
    Builder inner("f");
    Value x = inner.input(f32_of({2, 16, 3})), w = inner.input(f32_of({3, 3, 5}));
    const ProgramPtr f =
        inner.finish(Values{ops::convolution(x, w, stride == 1 ? conv(1, 1, 1) : conv(2, 0, 1))});
    const ProgramPtr g = vjp_program(*f, {true, true});
    Case c(kFour);
    Values in{c.input({2, 16, 3}, ";x"), c.input({3, 3, 5}, ""), c.input(out, ";x")};
    const Values results = c.b.inline_program(*g, in);
    const Partitioned p = c.run(Values{results[2]}, {""});
    EXPECT_EQ(collectives(p), stride == 1
                                  ? (Texts{"all_reduce x 270", "permute x 24", "permute x 24"})
                                  : (Texts{"all_reduce x 270", "permute x 24"}));
    expect_right(c, p);
  }
}

TEST(PartitionWindows, GradientsOfConvolutionsAreThoseOfOneDevice) {
  EXPECT_EQ(gradient_moves(
                kFour, {{2, 16, 3}, {3, 3, 5}}, {";x", ""}, ";x",
                [](const Values& in) { return ops::convolution(in[0], in[1], conv(1, 1, 1)); }),
            (Texts{"all_reduce x 270", "permute x 24", "permute x 24", "permute x 24",
                   "permute x 24", "permute x 40", "permute x 40"}));
  gradient_moves(kFour, {{2, 16, 3}, {3, 3, 5}}, {";x", ""}, ";x",
                 [](const Values& in) { return ops::convolution(in[0], in[1], conv(2, 0, 1)); });
  gradient_moves(kThree, {{2, 12, 3}, {2, 3, 5}}, {";x", ""}, ";x",
                 [](const Values& in) { return ops::convolution(in[0], in[1], conv(2, 0, 0)); });
}

TEST(PartitionWindows, PoolsExchangeRowsAtTheCuts) {
  for (const char* op : {"reduce_window_sum", "reduce_window_max", "reduce_window_min"}) {
    auto pooled = [&](const MeshShape& mesh, Shape s, const ops::WindowDims& d) {
      return moves(
          mesh, std::move(s), "x", [&](Value x) { return ops::reduce_window(op, x, d); }, "x");
    };
    EXPECT_EQ(pooled(kFour, {16}, {.window = {3}, .strides = {2}, .pad_high = {1}}),
              Texts{"permute x 4"});
    EXPECT_EQ(pooled(kFour, {16}, {.window = {3}, .pad_low = {1}, .pad_high = {1}}),
              Texts(2, "permute x 4"));
    EXPECT_EQ(pooled(kTwo, {8, 3}, {.window = {2, 2}, .strides = {2, 1}}), Texts{});
    // No device has the whole window, even together with the next device.
    EXPECT_EQ(pooled(kFour, {8}, {.window = {5}, .pad_low = {2}, .pad_high = {2}}),
              Texts(2, "permute x 8"));
  }
}

TEST(PartitionWindows, GradientsOfPoolsAreThoseOfOneDevice) {
  const ops::WindowDims d{.window = {3}, .strides = {2}, .pad_high = {1}};
  const auto max = [&](const Values& in) {
    return ops::reduce_window("reduce_window_max", in[0], d);
  };
  const auto sum = [&](const Values& in) {
    return ops::reduce_window("reduce_window_sum", in[0], d);
  };
  EXPECT_EQ(gradient_moves(kFour, {{16}}, {"x"}, "x", max),
            (Texts{"permute x 4", "permute x 4", "permute x 4", "permute x 8"}));
  gradient_moves(kFour, {{16}}, {"x"}, "x", sum);
}

TEST(PartitionWindows, AGradientOfPaddedWindowsGoesToTheFirstElementThere) {
  const float inf = INFINITY;
  const ops::WindowDims d{
      .window = {3, 3}, .strides = {2, 1}, .pad_low = {1, 1}, .pad_high = {0, 1}};
  for (bool max : {false, true}) {
    Builder inner("f");
    Value x = inner.input(f32_of({8, 8}));
    const char* op = max ? "reduce_window_max" : "reduce_window_min";
    const ProgramPtr g = vjp_program(*inner.finish(Values{ops::reduce_window(op, x, d)}), {true});
    Case c(kGrid);
    Values in{c.input({8, 8}, "x;y"), c.input({4, 8}, "x;y")};
    const Partitioned p = c.run(c.b.inline_program(*g, in), {"x;y", "x;y"});
    for (const CollectiveCause& cause : p.collectives)
      EXPECT_EQ(cause.kind, MoveKind::permute) << to_string(c.mesh, cause);
    std::vector<HostArray> drawn = drawn_inputs(*c.program);
    expect_right(*c.program, p, drawn);
    // All elements of a window are the least number.
    std::fill_n(drawn[0].data<float>(), 64, max ? -inf : inf);
    expect_right(*c.program, p, drawn);
    drawn[0].data<float>()[9] = 1;
    expect_right(*c.program, p, drawn);
  }
}

TEST(PartitionWindows, GradientsOfRunningTotalsAndSlicesAreThoseOfOneDevice) {
  EXPECT_EQ(gradient_moves(kFour, {{8, 3}}, {"x"}, "x",
                           [](const Values& in) { return ops::cumsum(in[0], 0); }),
            Texts(2, "all_gather x 36"));
  EXPECT_EQ(gradient_moves(kFour, {{16}}, {"x"}, "x",
                           [](const Values& in) { return ops::slice(in[0], {4}, {12}, {1}); }),
            (Texts{"permute x 16", "permute x 8", "permute x 8"}));
  gradient_moves(kFour, {{16}}, {"x"}, "x", [](const Values& in) {
    return ops::mul(ops::reverse(in[0], {0}), ops::pad(in[0], zero(in[0]), {1}, {-1}, {0}));
  });
}

TEST(PartitionWindows, TheFirstBestOfPartsIsTheFirstOfAll) {
  const float nan = std::nanf(""), inf = INFINITY;
  for (const std::vector<float>& row : {std::vector<float>{1, 3, 2, 3, 0, 3, 1, 1},
                                        {0, -0.F, 0, -0.F, 0, 0, -0.F, 0},
                                        {-inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf},
                                        {1, 5, nan, 2, nan, 9, nan, 0},
                                        {inf, inf, inf, inf, inf, inf, inf, inf},
                                        {4, 4, 4, 4, 5, 5, 5, 5}}) {
    Case c(kFour);
    Value x = c.input({32, 1}, "x");
    const Partitioned p = c.run({ops::argmax(x, 0), ops::argmin(x, 0, DType::int64)}, {"", ""});
    EXPECT_EQ(collectives(p), Texts(4, "all_reduce x 6"));
    for (std::int64_t first : {0, 3, 20}) {
      HostArray in(DType::float32, {32, 1});
      for (std::int64_t i = 0; i < 32; ++i)
        in.data<float>()[i] = i < first ? row[7] : row[static_cast<std::size_t>(i - first) % 8];
      expect_right(*c.program, p, {in});
    }
  }
  Case c(kTwo);
  Value x = c.input(Type(DType::boolean, {4, 6}), ";x"),
        y = c.input(Type(DType::uint8, {4, 6}), ";x");
  const Partitioned p = c.run({ops::argmax(x, 1), ops::argmin(x, 1), ops::argmin(y, 1)});
  expect_right(c, p);
}

TEST(PartitionWindows, TheGreatestOfAllAreAmongThoseOfParts) {
  auto greatest = [](Shape s, std::int64_t k) {
    Case c(kFour);
    Value x = c.input(std::move(s), ";x");
    const Partitioned p = c.run(ops::top_k(x, k), {"", ""});
    expect_right(c, p);
    return collectives(p);
  };
  EXPECT_EQ(greatest({64, 12}, 1), Texts(2, "all_gather x 768"));
  EXPECT_EQ(greatest({8, 64}, 5), Texts(2, "all_gather x 480"));
  // A shard would offer all of its elements with their positions. The elements alone are fewer
  // bytes.
  EXPECT_EQ(greatest({64, 12}, 5), Texts{"all_gather x 2304"});
}

TEST(PartitionWindows, ASortGoesWhereAnotherDimensionIsCut) {
  Case c(kFour);
  Value x = c.input({8, 16}, ";x");
  const Partitioned p = c.run({ops::sort(Values{x}, 1)[0]}, {";x"});
  EXPECT_EQ(collectives(p), Texts(2, "all_to_all x 96"));
  expect_right(c, p);
}

TEST(PartitionWindows, ABoxIsGivenByWhoHasIt) {
  for (std::int64_t size : {1, 3})
    for (std::int32_t start : {-1, 0, 1, 2, 3, 5, 7, 99}) {
      Case c(kFour);
      Value x = c.input({8, 16}, "x"), at = c.input(Type(DType::int32, {}), "");
      const Partitioned p = c.run(
          {ops::dynamic_slice(x, Values{at, ops::scalar(c.b, DType::int32, 0)}, {size, 16})}, {""});
      EXPECT_EQ(collectives(p), Texts{"all_reduce x " + std::to_string(size * 64 * 2 * 3 / 4)});
      std::vector<HostArray> in = drawn_inputs(*c.program);
      *in[1].data<std::int32_t>() = start;
      expect_right(*c.program, p, in);
    }
}

TEST(PartitionWindows, SlicesThatAreLookedUpAcrossPartsAreAdded) {
  for (const char* mode : {"clip", "zero"}) {
    Case c(kFour);
    Value x = c.input({64, 8}, "x"), at = c.input(Type(DType::int32, {5, 1}), "");
    const Partitioned p =
        c.run({ops::gather(x, at, {{1, 2}, {}, {}, {}, {0}, 1}, {3, 8}, mode)}, {""});
    EXPECT_EQ(collectives(p), Texts{"all_reduce x 720"});
    std::vector<HostArray> in = drawn_inputs(*c.program);
    const std::int32_t places[] = {-1, 14, 30, 61, 62};
    std::copy_n(places, 5, in[1].data<std::int32_t>());
    expect_right(*c.program, p, in);
  }
}

TEST(PartitionWindows, WindowsThatAreWrittenAcrossPartsMoveNothing) {
  for (const char* op : {"scatter", "scatter_add", "scatter_max"})
    for (const char* mode : {"clip", "drop"}) {
      Case c(kFour);
      Value x = c.input({16, 2}, "x"), at = c.input(Type(DType::int32, {5, 1}), ""),
            updates = c.input({5, 3, 2}, "");
      const Partitioned p =
          c.run({ops::scatter(op, x, at, updates, {{1, 2}, {}, {}, {}, {0}, 1}, mode)}, {"x"});
      EXPECT_EQ(collectives(p), Texts{}) << op << " " << mode;
      std::vector<HostArray> in = drawn_inputs(*c.program);
      const std::int32_t places[] = {-1, 2, 3, 13, 14};
      std::copy_n(places, 5, in[1].data<std::int32_t>());
      expect_right(*c.program, p, in);
    }
}

// Differentiates the partitioned program, as a typed per-device program whose collectives are
// transposed.
TEST(PartitionWindows, DerivativesOfPartitionedProgramsAreThoseOfPrograms) {
  for (const MeshShape& mesh : {kTwo, kThree, kFour}) {
    Case c(mesh);
    Value x = c.input({2, 24, 3}, ";x"), w = c.input({3, 3, 2}, "");
    Value y = ops::convolution(x, w, conv(2, 0, 1));
    y = ops::add(y, ops::reverse(y, {1}));
    y = ops::concatenate(Values{ops::slice(y, {0, 5, 0}, {2, 12, 2}, {1, 1, 1}),
                                ops::slice(y, {0, 0, 0}, {2, 5, 2}, {1, 1, 1})},
                         1);
    y = ops::cumsum(ops::pad(y, zero(y), {0, 12, 0}, {0, 0, 0}, {0, 0, 0}), 1);
    const Partitioned p = c.run({y}, {";x"});
    std::vector<HostArray> in = drawn_inputs(*c.program);
    in.push_back(whole_numbers(f32_of({2, 24, 2}), 9));
    const std::vector<bool> both{true, true};
    expect_same(evaluate(*vjp_program(*p.program, both), in),
                evaluate(*vjp_program(*c.program, both), in), "derivative");
  }
}

TEST(PartitionWindows, WhatNoBlocksShareIsStillTheSame) {
  auto reshaped = [](const MeshShape& mesh, Shape from, Shape to, const char* then) {
    Case c(mesh);
    Value x = c.input(std::move(from), "x");
    expect_right(c, c.run({ops::reshape(x, to)}, {then}));
  };
  reshaped(kThree, {6, 4}, {4, 6}, ";x");
  reshaped(kTwo, {6, 4}, {3, 8}, ";x");
  Case c(kFour);
  Value x = c.input({16}, "x");  // 15 and 5 elements, which come out whole
  const Partitioned p = c.run({ops::slice(x, {1}, {16}, {1}), ops::slice(x, {0}, {15}, {3})});
  EXPECT_EQ(collectives(p), Texts{"all_gather x 48"});
  expect_right(c, p);
}

TEST(PartitionWindows, ProgramsDoNotGrowWithTheMesh) {
  auto text = [](std::int64_t n) {
    Case c({{"x"}, {n}});
    Value x = c.input({4, 4096, 8}, ";x"), w = c.input({5, 8, 8}, "");
    Value y = ops::reverse(ops::convolution(x, w, conv(1, 2, 2)), {1});
    y = ops::concatenate(Values{y, x}, 1);
    const Partitioned p =
        c.run({ops::argmax(y, 1), ops::slice(y, {0, 1024, 0}, {4, 5120, 8}, {1, 1, 1})});
    return tessera::to_string(*p.program);
  };
  const std::string small = text(4), large = text(256);
  EXPECT_EQ(std::count(small.begin(), small.end(), '\n'),
            std::count(large.begin(), large.end(), '\n'));
  EXPECT_LT(large.size(), small.size() + small.size() / 5);
}
