// Results of loaded functions, and of transformations of them, agree with numbers that follow from
// the definitions.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numeric>

namespace ts = tessera;
using ts::Array;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

std::string function(const std::string& arguments, const std::string& results,
                     const std::string& body) {
  return "func.func @main(" + arguments + ") -> (" + results + ") {\n" + body + "\n}";
}
ts::LoadedFunction load(const std::string& arguments, const std::string& results,
                        const std::string& body) {
  return ts::load_stablehlo_text(function(arguments, results, body));
}
Array floats(const Floats& v) { return Array(v); }
Array ints(const Ints& v) { return Array(v); }

TEST(Loaded, InputsAndOutputsAreData) {
  const auto f = ts::load_stablehlo_text(R"(
module @jit_f {
  func.func public @main(%arg0: tensor<2x3xf32> {x = 1 : i32}, %n: tensor<i32>) -> (tensor<3x2xf32> {jax.result_info = "['y']"}, tensor<i32>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    return %0, %n : tensor<3x2xf32>, tensor<i32>
  }
})");
  const std::vector<ts::ArrayType> in = {{"arg0", ts::f32, {2, 3}}, {"n", ts::i32, {}}};
  const std::vector<ts::ArrayType> out = {{"['y']", ts::f32, {3, 2}}, {"result1", ts::i32, {}}};
  EXPECT_EQ(f.inputs(), in);
  EXPECT_EQ(f.outputs(), out);
  const auto y = f(Array(Floats{1, 2, 3, 4, 5, 6}, {2, 3}), 7);
  EXPECT_EQ(y[0].to_vector<float>(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(y[1].item<int>(), 7);
}

TEST(Loaded, GradVmapAndJitWorkOnIt) {
  const auto f = load("%x: tensor<3xf32>", "tensor<f32>", R"(
    %two = stablehlo.constant dense<2.0> : tensor<3xf32>
    %0 = stablehlo.multiply %x, %x : tensor<3xf32>
    %1 = stablehlo.multiply %0, %two : tensor<3xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>)");
  const Array x = floats({1, 2, 3});
  EXPECT_EQ(f.single()(x).item<float>(), 28);
  EXPECT_EQ(ts::grad(f.single())(x).to_vector<float>(), (Floats{4, 8, 12}));
  EXPECT_EQ(ts::jit(f.single())(x).item<float>(), 28);
  const Array rows(Floats{1, 0, 0, 0, 2, 0}, {2, 3});
  EXPECT_EQ(ts::vmap(f.single())(rows).to_vector<float>(), (Floats{2, 8}));
  EXPECT_EQ(ts::vmap(ts::grad(f.single()))(rows).to_vector<float>(), (Floats{4, 0, 0, 0, 8, 0}));
  EXPECT_EQ(ts::pmap(f.single())(Array(Floats{1, 2, 3}, {1, 3})).to_vector<float>(), Floats{28});
}

TEST(Loaded, SpecialFunctionsOfChlo) {
  const auto zeta = load("%s: tensor<3xf64>, %q: tensor<3xf64>", "tensor<3xf64>",
                         "%0 = chlo.zeta %s, %q : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>\n"
                         "return %0 : tensor<3xf64>");
  const double pi = std::acos(-1.0);
  const Array s(std::vector<double>{2, 4, 2}), q(std::vector<double>{1, 1, 2});
  const auto sums = zeta(s, q)[0].to_vector<double>();
  EXPECT_DOUBLE_EQ(sums[0], pi * pi / 6);
  EXPECT_DOUBLE_EQ(sums[1], std::pow(pi, 4) / 90);
  EXPECT_DOUBLE_EQ(sums[2], pi * pi / 6 - 1);
  const auto bessel = load("%x: tensor<3xf32>", "tensor<3xf32>",
                           "%0 = chlo.bessel_i1e %x : tensor<3xf32> -> tensor<3xf32>\n"
                           "return %0 : tensor<3xf32>");
  EXPECT_EQ(bessel.single()(floats({0, 1, -10})).to_vector<float>(),
            (Floats{0, 0.20791041534970844f, -0.12126268138445550f}));
}

TEST(Loaded, LargeConstantsAreKeptBesideTheProgram) {
  std::string list;
  for (int i = 0; i < 100; ++i) list += (i ? ", " : "") + std::to_string(i);
  const auto f = load("%x: tensor<100xi32>", "tensor<100xi32>",
                      "%c = stablehlo.constant dense<[" + list +
                          "]> : tensor<100xi32>\n%0 = stablehlo.subtract %x, %c : "
                          "tensor<100xi32>\nreturn %0 : tensor<100xi32>");
  Ints x(100);
  std::iota(x.begin(), x.end(), 5);
  EXPECT_EQ(f.single()(ints(x)).to_vector<std::int32_t>(), Ints(100, 5));
}

TEST(Loaded, ConstantsInEveryForm) {
  const auto f = ts::load_stablehlo_text(
      function("",
               "tensor<2x2xi16>, tensor<3xf32>, tensor<2xbf16>, tensor<4xi1>, tensor<2xf32>, "
               "tensor<0x3xf32>, tensor<2xui8>, tensor<4xi1>, tensor<4xi1>",
               R"(
    %0 = stablehlo.constant dense<"0x0100020003000400"> : tensor<2x2xi16>
    %1 = stablehlo.constant dense<[0xFF800000, -1.5, 1e-1]> : tensor<3xf32>
    %2 = stablehlo.constant dense<0xC040> : tensor<2xbf16>
    %3 = stablehlo.constant dense<"0x01000001"> : tensor<4xi1>
    %4 = stablehlo.constant dense_resource<w> : tensor<2xf32>
    %5 = stablehlo.constant dense<> : tensor<0x3xf32>
    %6 = "stablehlo.constant"() <{value = dense<255> : tensor<2xui8>}> : () -> tensor<2xui8>
    %7 = stablehlo.constant dense<"0x05"> : tensor<4xi1>
    %8 = stablehlo.constant dense<"0xFF"> : tensor<4xi1>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x2xi16>, tensor<3xf32>, tensor<2xbf16>, tensor<4xi1>, tensor<2xf32>, tensor<0x3xf32>, tensor<2xui8>, tensor<4xi1>, tensor<4xi1>)") +
      "\n{-# dialect_resources: { builtin: { w: \"0x040000000000803F00000040\" } } #-}");
  const auto y = f(std::vector<Array>{});
  EXPECT_EQ(y[0].to_vector<std::int16_t>(), (std::vector<std::int16_t>{1, 2, 3, 4}));
  EXPECT_EQ(y[1].to_vector<float>(), (Floats{-INFINITY, -1.5f, 0.1f}));
  EXPECT_EQ(y[2].astype(ts::f32).to_vector<float>(), (Floats{-3, -3}));
  EXPECT_EQ(y[3].to_vector<bool>(), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(y[4].to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(y[5].shape(), (ts::Shape{0, 3}));
  EXPECT_EQ(y[6].to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 255}));
  EXPECT_EQ(y[7].to_vector<bool>(), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(y[8].to_vector<bool>(), std::vector<bool>(4, true));
}

TEST(Loaded, WhileCountsAndReadsFromOutside) {
  const auto f = load("%n: tensor<i32>, %step: tensor<i32>", "tensor<i32>", R"(
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %more = stablehlo.add %sum, %step : tensor<i32>
      stablehlo.return %next, %more : tensor<i32>, tensor<i32>
    }
    return %0#1 : tensor<i32>)");
  EXPECT_EQ(f.single()(ts::full({}, 5, ts::i32), ts::full({}, 7, ts::i32)).item<int>(), 35);
}

TEST(Loaded, BranchesByIndex) {
  const auto f = load("%i: tensor<i32>, %x: tensor<f32>, %y: tensor<f32>", "tensor<f32>", R"(
    %0 = "stablehlo.case"(%i) ({
      stablehlo.return %x : tensor<f32>
    }, {
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }, {
      stablehlo.return %y : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    return %0 : tensor<f32>)");
  const float want[] = {20, 10, 30, 20, 20};  // at -1, 0, 1, 2, 3: out of range is the last
  for (int i = -1; i <= 3; ++i)
    EXPECT_EQ(f.single()(ts::full({}, i, ts::i32), 10.0f, 20.0f).item<float>(), want[i + 1]) << i;
}

TEST(Loaded, CallsAreInlined) {
  const auto f = ts::load_stablehlo_text(R"(
    func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.add %x, %x : tensor<f32>
      return %0 : tensor<f32>
    }
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = call @twice(%x) : (tensor<f32>) -> tensor<f32>
      %1 = stablehlo.composite "my.twice" %0 {decomposition = @twice} : (tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    })");
  EXPECT_EQ(f.single()(3.0f).item<float>(), 12);
  EXPECT_EQ(ts::grad(f.single())(Array(3.0f)).item<float>(), 4);
}

// 1.5 * 1.5 + 0.5 * 0.5 is 2.5, and (1 + 2i) i is -2 + i; integers become complex numbers before.
TEST(Loaded, ProductsInAnotherKindOfNumber) {
  const auto product = [](const std::string& from, const std::string& to) {
    const std::string t = "tensor<1x2x" + from + ">", w = "tensor<2x1x" + from + ">",
                      r = "tensor<1x1x" + to + ">";
    return load("%x: " + t + ", %y: " + w, r + ", " + r,
                "%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (" + t + ", " +
                    w + ") -> " + r +
                    "\n%1 = stablehlo.convolution(%x, %y) dim_numbers = [b, f]x[i, o]->[b, f], "
                    "window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" +
                    t + ", " + w + ") -> " + r + "\nreturn %0, %1 : " + r + ", " + r);
  };
  for (const char* to : {"i32", "i64"})
    for (const Array& y :
         product("f32", to)(Array(Floats{1.5, 0.5}, {1, 2}), Array(Floats{1.5, 0.5}, {2, 1})))
      EXPECT_EQ(ts::astype(y, ts::i32).item<int>(), 2) << to;
  using Complex = std::complex<float>;
  const Array z(std::vector<Complex>{{1, 2}, {0, 0}}), i(std::vector<Complex>{{0, 1}, {0, 0}});
  for (const Array& y :
       product("complex<f32>", "f32")(ts::reshape(z, {1, 2}), ts::reshape(i, {2, 1})))
    EXPECT_EQ(y.item<float>(), -2);
  for (const Array& y :
       product("i32", "complex<f32>")(Array(Ints{3, 1}, {1, 2}), Array(Ints{2, 1}, {2, 1})))
    EXPECT_EQ(y.to_vector<Complex>()[0], Complex(7, 0));
}

// polygamma(1, 1) = pi^2 / 6 and polygamma(2, 1) = -2 zeta(3); digamma(1) is minus Euler's
// constant.
TEST(Loaded, PolygammaOfOrdersThatAreData) {
  const auto f = load("%n: tensor<5xf64>, %x: tensor<5xf64>", "tensor<5xf64>",
                      "%0 = chlo.polygamma %n, %x : tensor<5xf64>, tensor<5xf64> -> tensor<5xf64>\n"
                      "return %0 : tensor<5xf64>");
  const auto y = f.single()(Array(std::vector<double>{0, 1, 2, -1, 1.5}),
                            Array(std::vector<double>{1, 1, 1, 1, 1}))
                     .to_vector<double>();
  // An exponential of a logarithm and a product: a few rounding errors.
  EXPECT_NEAR(y[0], -0.57721566490153286, 4e-16);
  EXPECT_NEAR(y[1], 1.6449340668482264, 2e-15);
  EXPECT_NEAR(y[2], -2.4041138063191886, 3e-15);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_TRUE(std::isnan(y[4]));
}

// 2^24 + 1 + 1 is 2^24 in float32, and 1 + 1 + 2^24 is not: the initial value comes first, then the
// elements row by row.
TEST(Loaded, SumsBeginWithTheirStart) {
  const auto add = R"((
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }))";
  const std::string start = "%z = stablehlo.constant dense<16777216.0> : tensor<f32>\n";
  const auto whole =
      load("%x: tensor<1x2xf32>", "tensor<1xf32>",
           start + R"(%0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({)" +
               std::string(add).substr(1) +
               " : (tensor<1x2xf32>, tensor<f32>) -> tensor<1xf32>\nreturn %0 : tensor<1xf32>");
  const auto windows = load(
      "%x: tensor<1x3xf32>", "tensor<1x2xf32>",
      start +
          R"(%0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>}> ({)" +
          std::string(add).substr(1) +
          " : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x2xf32>\nreturn %0 : tensor<1x2xf32>");
  EXPECT_EQ(whole.single()(Array(std::vector<float>{1, 1}, {1, 2})).item<float>(), 16777216);
  EXPECT_EQ(windows.single()(Array(std::vector<float>{1, 1, 1}, {1, 3})).to_vector<float>(),
            (std::vector<float>{16777216, 16777216}));
}

// A reduction over two values at once: the greatest element and its first position.
TEST(Loaded, ReductionsByAnyRegion) {
  for (const int n : {1, 2, 5, 8, 13}) {
    const std::string t = "tensor<" + std::to_string(n) + "x2xf32>",
                      ti = "tensor<" + std::to_string(n) + "x2xi32>";
    const auto f =
        load("%x: " + t, "tensor<2xf32>, tensor<2xi32>",
             R"(
      %i = stablehlo.iota dim = 0 : )" +
                 ti + R"(
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [0] : ()" +
                 t + ", " + ti + R"(, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
       reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
        %p = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %v = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
        %w = stablehlo.select %p, %c, %d : tensor<i1>, tensor<i32>
        stablehlo.return %v, %w : tensor<f32>, tensor<i32>
      }
      return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>)");
    Floats x(static_cast<std::size_t>(2 * n));
    for (int i = 0; i < 2 * n; ++i)
      x[static_cast<std::size_t>(i)] = static_cast<float>((i * 7) % 5);
    const auto y = f(Array(x, {n, 2}));
    for (int column = 0; column < 2; ++column) {
      int best = 0;
      for (int i = 1; i < n; ++i)
        if (x[static_cast<std::size_t>(2 * i + column)] >
            x[static_cast<std::size_t>(2 * best + column)])
          best = i;
      EXPECT_EQ(y[0].to_vector<float>()[static_cast<std::size_t>(column)],
                x[static_cast<std::size_t>(2 * best + column)]);
      EXPECT_EQ(y[1].to_vector<std::int32_t>()[static_cast<std::size_t>(column)], best) << n;
    }
  }
}

// Windows padded with an initial value that changes the result, which none of our ops does.
TEST(Loaded, WindowsByAnyRegion) {
  const auto f = load("%x: tensor<5xi32>", "tensor<3xi32>", R"(
    %init = stablehlo.constant dense<100> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<5xi32>, tensor<i32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>)");
  EXPECT_EQ(f.single()(ints({1, 2, 3, 4, 5})).to_vector<std::int32_t>(), (Ints{203, 109, 209}));
}

// Prefixes of affine maps, which are composed in order: (a, b) stands for x -> a x + b. Every window
// begins at the first element, or ends at the last one.
TEST(Loaded, WindowsThatGrowByAnyAssociativeRegion) {
  const auto from = [](const std::string& padding) {
    return load("%a: tensor<2x40xi32>, %b: tensor<2x40xi32>", "tensor<2x40xi32>, tensor<2x40xi32>",
                R"(
      %one = stablehlo.constant dense<1> : tensor<i32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = "stablehlo.reduce_window"(%a, %b, %one, %zero) <{window_dimensions = array<i64: 1, 40>, padding = dense<[[0, 0], )" +
                    padding + R"(]> : tensor<2x2xi64>}> ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>, %r: tensor<i32>, %s: tensor<i32>):
        %t = stablehlo.multiply %p, %r : tensor<i32>
        %u = stablehlo.multiply %q, %r : tensor<i32>
        %v = stablehlo.add %u, %s : tensor<i32>
        stablehlo.return %t, %v : tensor<i32>, tensor<i32>
      }) : (tensor<2x40xi32>, tensor<2x40xi32>, tensor<i32>, tensor<i32>) -> (tensor<2x40xi32>, tensor<2x40xi32>)
      return %0#0, %0#1 : tensor<2x40xi32>, tensor<2x40xi32>)");
  };
  Ints a(80), b(80);
  for (std::size_t i = 0; i < 80; ++i) a[i] = i % 7 == 3 ? -1 : 1, b[i] = static_cast<int>(i % 11);
  const auto shaped = [](const Ints& x) { return Array(x, {2, 40}); };
  for (const bool behind : {false, true}) {
    const auto got = from(behind ? "[0, 39]" : "[39, 0]")(shaped(a), shaped(b));
    Ints scales, shifts;
    for (std::size_t row = 0; row < 80; row += 40)
      for (std::size_t i = 0; i < 40; ++i) {
        int scale = 1, shift = 0;
        for (std::size_t k = behind ? i : 0; k < (behind ? 40 : i + 1); ++k) {
          shift = shift * a[row + k] + b[row + k];
          scale *= a[row + k];
        }
        scales.push_back(scale);
        shifts.push_back(shift);
      }
    EXPECT_EQ(got[0].to_vector<std::int32_t>(), scales);
    EXPECT_EQ(got[1].to_vector<std::int32_t>(), shifts);
  }
}

TEST(Loaded, SortsByKeysAndByAnyComparator) {
  const auto sort = [](const std::string& comparator) {
    return load("%x: tensor<6xi32>, %y: tensor<6xi32>", "tensor<6xi32>, tensor<6xi32>", R"(
      %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
        )" + comparator + R"(
        stablehlo.return %p : tensor<i1>
      }) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
      return %0#0, %0#1 : tensor<6xi32>, tensor<6xi32>)");
  };
  const Array x = ints({3, -1, 2, 3, -1, 0}), y = ints({0, 1, 2, 3, 4, 5});
  const std::string types = " : (tensor<i32>, tensor<i32>) -> tensor<i1>\n";
  const auto check = [&](const std::string& comparator, const Ints& keys, const Ints& places) {
    const auto out = sort(comparator)(x, y);
    EXPECT_EQ(out[0].to_vector<std::int32_t>(), keys) << comparator;
    EXPECT_EQ(out[1].to_vector<std::int32_t>(), places) << comparator;
  };
  check("%p = stablehlo.compare LT, %a, %b" + types, {-1, -1, 0, 2, 3, 3}, {1, 4, 5, 2, 0, 3});
  check("%p = stablehlo.compare GT, %a, %b" + types, {3, 3, 2, 0, -1, -1}, {0, 3, 2, 5, 1, 4});
  check(
      "%u = stablehlo.abs %a : tensor<i32>\n%v = stablehlo.abs %b : tensor<i32>\n%p = "
      "stablehlo.compare LT, %u, %v" +
          types,
      {0, -1, -1, 2, 3, 3}, {5, 1, 4, 2, 0, 3});
  // Sorted by the first operand, and by the second in reverse if the first are equal.
  check("%l = stablehlo.compare LT, %a, %b" + types + "%e = stablehlo.compare EQ, %a, %b" + types +
            "%g = stablehlo.compare GT, %c, %d" + types +
            "%m = stablehlo.and %e, %g : tensor<i1>\n%p = stablehlo.or %l, %m : tensor<i1>\n",
        {-1, -1, 0, 2, 3, 3}, {4, 1, 5, 2, 3, 0});
}

// Each update is subtracted from twice the previous element: the order of updates matters, and an
// update that is not inside is left out.
TEST(Loaded, ScattersByAnyRegion) {
  const auto f =
      load("%x: tensor<4xi32>, %i: tensor<4x1xi32>, %u: tensor<4xi32>", "tensor<4xi32>", R"(
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %a : tensor<i32>
      %d = stablehlo.subtract %s, %b : tensor<i32>
      stablehlo.return %d : tensor<i32>
    }) : (tensor<4xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>)");
  const Array y =
      f.single()(ints({1, 2, 3, 4}), Array(Ints{1, 3, 1, 4}, {4, 1}), ints({1, 2, 4, 9}));
  EXPECT_EQ(y.to_vector<std::int32_t>(), (Ints{1, 2, 3, 6}));  // 2 * (2 * 2 - 1) - 4, 2 * 4 - 2
}

TEST(Loaded, BatchNorm) {
  const auto f = load("%x: tensor<2x2xf32>, %s: tensor<2xf32>, %o: tensor<2xf32>",
                      "tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>", R"(
    %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
    return %0#0, %0#1, %0#2 : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)");
  const auto y = f(Array(Floats{1, 10, 3, 30}, {2, 2}), floats({2, 1}), floats({0, 5}));
  EXPECT_EQ(y[0].to_vector<float>(), (Floats{-2, 4, 2, 6}));
  EXPECT_EQ(y[1].to_vector<float>(), (Floats{2, 20}));
  EXPECT_EQ(y[2].to_vector<float>(), (Floats{1, 100}));
}

TEST(Loaded, TuplesAndTokens) {
  const auto f = load("%x: tensor<f32>, %y: tensor<i32>", "tensor<i32>", R"(
    %t = stablehlo.create_token : !stablehlo.token
    %u = stablehlo.after_all %t, %t : !stablehlo.token
    %a = stablehlo.tuple %x, %y : tuple<tensor<f32>, tensor<i32>>
    %b = stablehlo.tuple %a, %u : tuple<tuple<tensor<f32>, tensor<i32>>, !stablehlo.token>
    %c = stablehlo.get_tuple_element %b[0] : (tuple<tuple<tensor<f32>, tensor<i32>>, !stablehlo.token>) -> tuple<tensor<f32>, tensor<i32>>
    %d = stablehlo.get_tuple_element %c[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>
    return %d : tensor<i32>)");
  EXPECT_EQ(f.single()(1.0f, ts::full({}, 9, ts::i32)).item<int>(), 9);
}

TEST(Loaded, PowersOfIntegers) {
  const auto f = load("%x: tensor<7xi32>, %y: tensor<7xi32>", "tensor<7xi32>", R"(
    %0 = stablehlo.power %x, %y : tensor<7xi32>
    return %0 : tensor<7xi32>)");
  const Array y = f.single()(ints({3, -3, -1, -1, 2, 0, 7}), ints({4, 3, -3, -2, -1, 0, 30}));
  std::uint32_t seventh = 1;
  for (int i = 0; i < 30; ++i) seventh *= 7;
  EXPECT_EQ(y.to_vector<std::int32_t>(),
            (Ints{81, -27, -1, 1, 0, 1, static_cast<std::int32_t>(seventh)}));
}

TEST(Loaded, TotalOrder) {
  const auto f = load("%x: tensor<4xf32>, %y: tensor<4xf32>", "tensor<4xi1>", R"(
    %0 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return %0 : tensor<4xi1>)");
  const float nan = std::nanf("");
  const Array y = f.single()(floats({-0.0f, 0.0f, 1.0f, nan}), floats({0.0f, -0.0f, nan, 1.0f}));
  EXPECT_EQ(y.to_vector<bool>(), (std::vector<bool>{true, false, true, false}));
}

// JAX 0.12 writes CHLO's operations like this. The decompositions here are wrong on purpose: a
// reader that knows the operation does not use them.
TEST(Composites, OfChloAreItsOperations) {
  const ts::LoadedFunction f = ts::load_stablehlo_text(R"(module {
    func.func @main(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<2xf64>, tensor<2xi32>) {
      %0 = stablehlo.composite "chlo.erf" %x {decomposition = @same, version = 1 : i32} : (tensor<3xf64>) -> tensor<3xf64>
      %1 = stablehlo.composite "chlo.unknown" %x {decomposition = @same, version = 1 : i32} : (tensor<3xf64>) -> tensor<3xf64>
      %2:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {is_stable = true, k = 2 : i64}, decomposition = @first, version = 1 : i32} : (tensor<3xf64>) -> (tensor<2xf64>, tensor<2xi32>)
      return %0, %1, %2#0, %2#1 : tensor<3xf64>, tensor<3xf64>, tensor<2xf64>, tensor<2xi32>
    }
    func.func private @same(%x: tensor<3xf64>) -> tensor<3xf64> { return %x : tensor<3xf64> }
    func.func private @first(%x: tensor<3xf64>) -> (tensor<2xf64>, tensor<2xi32>) {
      %0 = stablehlo.slice %x [0:2] : (tensor<3xf64>) -> tensor<2xf64>
      %1 = stablehlo.constant dense<0> : tensor<2xi32>
      return %0, %1 : tensor<2xf64>, tensor<2xi32>
    }
  })");
  const std::vector<Array> y = f(Array(std::vector<double>{0, 2, 1}));
  const std::vector<double> erf = y[0].to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i)  // 4 units in the last place of 1
    EXPECT_NEAR(erf[i], std::erf(std::vector<double>{0, 2, 1}[i]), 1e-15);
  EXPECT_EQ(y[1].to_vector<double>(), (std::vector<double>{0, 2, 1}));
  EXPECT_EQ(y[2].to_vector<double>(), (std::vector<double>{2, 1}));
  EXPECT_EQ(y[3].to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2}));
}

}  // namespace
