// Loops whose number of iterations is known become scans, however they count; the others stay
// `while`.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace ts = tessera;
using ts::Array;

namespace {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

std::string file(const std::string& name) {
  return std::string(TESSERA_TEST_DIR) + "/stablehlo/exported/loops/" + name;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string program_of(const std::string& text) {
  const std::string path = testing::TempDir() + "counted_loops_test.mlir";
  {
    std::ofstream out(path);
    out << text;
  }
  std::string program = ts::stablehlo_program(path);
  std::filesystem::remove(path);
  return program;
}

// Numbered arrays of an archive: "argument0", "argument1", ...
std::vector<Array> numbered(const std::map<std::string, Array>& all, const std::string& name) {
  std::vector<Array> out;
  for (auto it = all.find(name + "0"); it != all.end();
       it = all.find(name + std::to_string(out.size())))
    out.push_back(it->second);
  return out;
}

// Compares up to rounding, relative to the largest element, because small elements are sums that
// cancel.
void expect_close(const Array& got, const Array& want, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const double size = ts::max(ts::abs(want)).item<double>();
  EXPECT_LE(ts::max(ts::abs(got - want)).item<double>(), 1e-12 * (1 + size)) << what;
}

struct Exported {
  const char* name;
  std::vector<const char*> versions;
  bool reads_elsewhere = false;  // at positions that are not rows of a scan
  int devices = 1;
};
const std::vector<Exported>& exported() {
  static const auto* const all =
      new std::vector<Exported>{{"lstm", {"0_4", "0_10", "0_12"}},
                                {"gru_reversed", {"0_4", "0_10", "0_12"}},
                                {"counted", {"0_4", "0_10", "0_12"}},
                                {"written", {"0_4", "0_10", "0_12"}},
                                {"columns", {"0_4", "0_10", "0_12"}},
                                {"nested", {"0_4", "0_10", "0_12"}},
                                {"reads_behind", {"0_4", "0_10", "0_12"}, true},
                                {"gradient", {"0_4", "0_10", "0_12"}},
                                {"checkpointed", {"0_4", "0_10", "0_12"}},
                                {"expm", {"0_4", "0_10", "0_12"}, true},
                                {"mapped", {"0_10", "0_12"}, false, 4},
                                {"flax_lstm", {"0_10", "0_12"}},
                                {"flax_gru", {"0_10", "0_12"}},
                                {"flax_scan", {"0_10", "0_12"}}};
  return *all;
}

}  // namespace

// Results and gradients agree with JAX's own, for modules that three releases of JAX wrote.
TEST(CountedLoops, ThatJaxExportsHaveGradients) {
  const int before = ts::device_count();
  for (const Exported& e : exported()) {
    if (e.devices > before) ts::set_device_count(e.devices);
    const std::map<std::string, Array> all = ts::load_npz(file(std::string(e.name) + ".npz"));
    const std::vector<Array> arguments = numbered(all, "argument"),
                             results = numbered(all, "result"),
                             gradients = numbered(all, "gradient");
    for (const char* version : e.versions) {
      const std::string name = std::string(e.name) + "_" + version;
      const auto f = ts::load_stablehlo(file(name + ".jaxexport"));
      const std::string program = ts::stablehlo_program(file(name + ".jaxexport"));
      EXPECT_FALSE(has(program, "while")) << program;
      EXPECT_EQ(has(program, "dynamic"), e.reads_elsewhere) << program;
      const std::vector<Array> y = f(arguments);
      ASSERT_EQ(y.size(), results.size()) << name;
      for (std::size_t i = 0; i < y.size(); ++i)
        expect_close(y[i], results[i], name + " result " + std::to_string(i));
      const auto total = [&](const std::vector<Array>& x) {
        Array sum = 0.0;
        for (const Array& part : f(x)) sum = sum + ts::sum(part);
        return sum;
      };
      const std::vector<Array> g = ts::grad(total)(arguments);
      ASSERT_EQ(g.size(), gradients.size()) << name;
      for (std::size_t i = 0; i < g.size(); ++i)
        expect_close(g[i], gradients[i], name + " gradient " + std::to_string(i));
    }
  }
  ts::set_device_count(before);
}

// The memory of the backward pass grows linearly with the number of iterations: arrays whose rows
// are read and written are not stored whole for each iteration.
TEST(CountedLoops, GradientsTakeMemoryThatIsLinearInTheTurns) {
  const auto bytes = [](int n) {
    const std::string rows = "tensor<" + std::to_string(n) + "x64xf32>";
    const std::string text = "func.func @main(%x: " + rows + ") -> " + rows + R"( {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %start = stablehlo.constant dense<0.5> : tensor<64xf32>
      %none = stablehlo.constant dense<0.0> : )" +
                             rows + R"(
      %r:4 = stablehlo.while(%i = %zero, %a = %x, %c = %start, %y = %none) : tensor<i32>, )" +
                             rows + ", tensor<64xf32>, " + rows + R"(
      cond {
        %n = stablehlo.constant dense<)" +
                             std::to_string(n) + R"(> : tensor<i32>
        %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %t = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 64] : ()" +
                             rows +
                             R"(, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
        %u = stablehlo.reshape %t : (tensor<1x64xf32>) -> tensor<64xf32>
        %s = stablehlo.sine %u : tensor<64xf32>
        %d = stablehlo.multiply %c, %s : tensor<64xf32>
        %row = stablehlo.reshape %d : (tensor<64xf32>) -> tensor<1x64xf32>
        %z = stablehlo.dynamic_update_slice %y, %row, %i, %zero : ()" +
                             rows + R"(, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> )" + rows +
                             R"(
        %next = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %next, %a, %d, %z : tensor<i32>, )" +
                             rows + ", tensor<64xf32>, " + rows + R"(
      }
      return %r#3 : )" + rows +
                             "\n}";
    const auto f = ts::load_stablehlo_text(text);
    const auto loss = [f](const Array& x) { return ts::sum(f(x)[0]); };
    return ts::jit(ts::grad(loss)).lower(ts::ones({n, 64})).memory().temporaries;
  };
  const auto few = bytes(256), many = bytes(1024);
  EXPECT_GT(few, 0);
  EXPECT_LE(many, 4 * few + (1 << 16));
}

namespace {

struct Case {
  std::string type;
  std::int64_t start;
  std::string direction;
  std::int64_t bound;
  std::string step;  // the operation, and the constant
  std::int64_t by;
  bool swapped = false;  // the bound is the first operand
};

std::string counting(const Case& c) {
  const std::string t = "tensor<" + c.type + ">";
  const std::string compared = c.swapped ? "%n, %i" : "%i, %n";
  return "func.func @main(%x: tensor<f64>) -> (tensor<f64>, " + t + ") {\n" +
         "  %start = stablehlo.constant dense<" + std::to_string(c.start) + "> : " + t +
         "\n  %r:2 = stablehlo.while(%a = %x, %i = %start) : tensor<f64>, " + t +
         "\n  cond {\n    %n = stablehlo.constant dense<" + std::to_string(c.bound) + "> : " + t +
         "\n    %more = stablehlo.compare " + c.direction + ", " + compared + " : (" + t + ", " +
         t + ") -> tensor<i1>\n    stablehlo.return %more : tensor<i1>\n  } do {\n    %by = " +
         "stablehlo.constant dense<" + std::to_string(c.by) + "> : " + t +
         "\n    %next = stablehlo." + c.step + " %i, %by : " + t + R"(
    %half = stablehlo.constant dense<0.5> : tensor<f64>
    %f = stablehlo.convert %i : ()" +
         t + R"() -> tensor<f64>
    %h = stablehlo.multiply %a, %half : tensor<f64>
    %s = stablehlo.add %h, %f : tensor<f64>
    stablehlo.return %s, %next : tensor<f64>, )" +
         t + "\n  }\n  return %r#0, %r#1 : tensor<f64>, " + t + "\n}\n";
}

bool compares(const std::string& direction, std::int64_t a, std::int64_t b) {
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  if (direction == "GT") return a > b;
  if (direction == "GE") return a >= b;
  return direction == "EQ" ? a == b : a != b;
}

}  // namespace

TEST(CountedLoops, AnyDirectionStartStepAndType) {
  const Case cases[] = {{"i32", 0, "LT", 5, "add", 1},
                        {"i64", -3, "LE", 4, "add", 2},
                        {"i32", 9, "GT", 2, "subtract", 2},
                        {"i64", 9, "GE", 0, "add", -3},
                        {"i32", 0, "NE", 6, "add", 2},
                        {"i32", 6, "NE", 0, "subtract", 3},
                        {"i32", 5, "GT", 0, "subtract", 1, true},
                        {"i64", 7, "LT", 2, "subtract", 1, true},
                        {"ui32", 3, "LT", 9, "add", 4},
                        {"ui8", 250, "LE", 253, "add", 1},
                        {"i8", -128, "LT", 127, "add", 51},
                        {"i32", 4, "EQ", 4, "add", 1},
                        {"i32", 5, "LT", 5, "add", 1},
                        {"i32", 5, "LT", -5, "add", 1},
                        {"i64", 4611686018427387904, "GT", 4611686018427387900, "subtract", 1},
                        {"i64", -4611686018427387904, "LT", -4611686018427387900, "add", 1},
                        {"i32", 2147483640, "LT", 2147483646, "add", 1}};
  for (const Case& c : cases) {
    const std::string text = counting(c);
    const std::string program = program_of(text);
    EXPECT_FALSE(has(program, "while")) << text << program;
    double a = 3;
    std::int64_t i = c.start, turns = 0;
    const auto more = [&] {
      return c.swapped ? compares(c.direction, c.bound, i) : compares(c.direction, i, c.bound);
    };
    for (; more(); ++turns) {
      a = a * 0.5 + static_cast<double>(i);
      i += c.step == "add" ? c.by : -c.by;
    }
    const auto f = ts::load_stablehlo_text(text);
    const auto y = f(Array(3.0));
    EXPECT_EQ(y[0].item<double>(), a) << text;
    EXPECT_EQ(y[1].astype(ts::i64).item<std::int64_t>(), i) << text;
    EXPECT_EQ(has(program, "scan"), turns > 0) << program;
    EXPECT_EQ(ts::grad([&](const Array& x) { return f(x)[0]; })(Array(3.0)).item<double>(),
              std::pow(0.5, turns))
        << text;
  }
}

// Loops that are not counted: they end when a number wraps around, or never, or after more
// iterations than a scan has.
TEST(CountedLoops, OthersStayAsTheyAre) {
  const std::int64_t far = std::int64_t{1} << 62;
  const Case cases[] = {{"i32", 0, "LT", 5, "add", 0},
                        {"i32", 0, "LT", 5, "subtract", 1},
                        {"i32", 0, "LE", 2147483647, "add", 1},
                        {"i32", 0, "LT", 2147483647, "add", 2},
                        {"ui8", 3, "GE", 0, "subtract", 1},
                        {"i32", 0, "NE", 5, "add", 2},
                        {"i64", 0, "LT", far, "add", 1},
                        {"i64", -far, "LT", far, "add", 1},
                        {"i64", std::numeric_limits<std::int64_t>::min(), "NE", 0, "add", 1},
                        {"i64", 0, "GT", -far, "subtract", 1},
                        {"i32", 4, "EQ", 4, "add", 0}};
  for (const Case& c : cases) {
    const std::string program = program_of(counting(c));
    EXPECT_TRUE(has(program, "while")) << counting(c);
    EXPECT_FALSE(has(program, "scan")) << counting(c);
  }
  // A loop whose counter wraps around still ends.
  const auto f = ts::load_stablehlo_text(counting({"ui8", 3, "LE", 254, "add", 5}));
  std::int64_t i = 3;
  double a = 3;
  for (; i <= 254; i = (i + 5) % 256) a = a * 0.5 + static_cast<double>(i);
  const auto y = f(Array(3.0));
  EXPECT_EQ(y[0].item<double>(), a);
  EXPECT_EQ(y[1].astype(ts::i64).item<std::int64_t>(), i);
}

// A scan of 2^40 iterations is a program, and takes no memory for its iterations.
TEST(CountedLoops, OfManyTurnsAreLoadedAtOnce) {
  const std::string program =
      program_of(counting({"i64", 0, "LT", std::int64_t{1} << 40, "add", 1}));
  EXPECT_TRUE(has(program, "length=1099511627776") || has(program, "length = 1099511627776"))
      << program;
}

// If memory or an array cannot hold the iterations, the gradient is an error, but the loop itself
// is not.
TEST(CountedLoops, ThatNoMemoryHoldsHaveNoGradient) {
  const auto message = [](const std::string& turns) {
    const std::string text = R"(func.func @main(%x: tensor<1048576xf64>) -> tensor<1048576xf64> {
  %start = stablehlo.constant dense<0> : tensor<i64>
  %r:2 = stablehlo.while(%a = %x, %i = %start) : tensor<1048576xf64>, tensor<i64>
  cond {
    %n = stablehlo.constant dense<)" +
                             turns +
                             R"(> : tensor<i64>
    %more = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %next = stablehlo.add %i, %one : tensor<i64>
    %b = stablehlo.multiply %a, %a : tensor<1048576xf64>
    stablehlo.return %b, %next : tensor<1048576xf64>, tensor<i64>
  }
  return %r#0 : tensor<1048576xf64>
})";
    const auto f = ts::load_stablehlo_text(text);
    try {
      ts::grad([&](const Array& x) { return ts::sum(f(x)[0]); })(ts::ones({1048576}, ts::f64));
    } catch (const ts::Error& e) {
      const std::string all = e.what();
      return all.substr(0, all.find("\n  from"));
    }
    return std::string("it has one");
  };
  for (const char* turns : {"1099511627776", "1125899906842624"})
    EXPECT_EQ(message(turns), "scan: the result would have shape (" + std::string(turns) +
                                  ", 1048576)\n  rule: an array has at most 2^50 elements\n"
                                  "  try: check the arithmetic that gave its extents");
  for (const char* turns : {"1125899906842625", "4611686018427387904"})
    EXPECT_EQ(message(turns),
              "while_loop: reverse-mode differentiation needs a number of steps that is known "
              "beforehand\n  rule: the backward pass replays the steps in reverse, so each step's "
              "values must have a place to be kept\n  try: try scan, or fori_loop with static "
              "bounds");
}

namespace {

// A loop of 5 iterations from 0 whose body has x (6x2), a row c, a table y (6x2) and a small
// counter k.
std::string over_rows(const std::string& body, const std::string& c, const std::string& y) {
  return R"(func.func @main(%x: tensor<6x2xf32>) -> (tensor<2xf32>, tensor<6x2xf32>, tensor<i8>) {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %m = stablehlo.constant dense<120> : tensor<i8>
  %ones = stablehlo.constant dense<1.0> : tensor<2xf32>
  %sevens = stablehlo.constant dense<7.0> : tensor<6x2xf32>
  %r:5 = stablehlo.while(%i = %0, %a = %x, %c = %ones, %y = %sevens, %k = %m) : tensor<i32>, tensor<6x2xf32>, tensor<2xf32>, tensor<6x2xf32>, tensor<i8>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %small = stablehlo.constant dense<3> : tensor<i8>
    %next = stablehlo.add %i, %one : tensor<i32>
    %more = stablehlo.add %k, %small : tensor<i8>
)" + body +
         "\n    stablehlo.return %next, %a, " + c + ", " + y +
         R"(, %more : tensor<i32>, tensor<6x2xf32>, tensor<2xf32>, tensor<6x2xf32>, tensor<i8>
  }
  return %r#2, %r#3, %r#4 : tensor<2xf32>, tensor<6x2xf32>, tensor<i8>
})";
}
std::string read_at(const std::string& name, const std::string& table, const std::string& at) {
  return "    %" + name + "s = stablehlo.dynamic_slice " + table + ", " + at +
         ", %0, sizes = [1, 2] : (tensor<6x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>\n" +
         "    %" + name + " = stablehlo.reshape %" + name +
         "s : (tensor<1x2xf32>) -> tensor<2xf32>\n";
}
std::string written_at(const std::string& name, const std::string& table, const std::string& row,
                       const std::string& at) {
  return "    %" + name + "r = stablehlo.reshape " + row +
         " : (tensor<2xf32>) -> tensor<1x2xf32>\n" + "    %" + name +
         " = stablehlo.dynamic_update_slice " + table + ", %" + name + "r, " + at +
         ", %0 : (tensor<6x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x2xf32>\n";
}
Array table() { return ts::arange(12.0).astype(ts::f32).reshape({6, 2}); }

}  // namespace

// x[i] and x[i + 1] are rows of the scan; five rows of y are written, and the last row keeps its
// value.
TEST(CountedLoops, RowsAreInputsAndOutputsOfTheScan) {
  const std::string text = over_rows(read_at("p", "%a", "%i") + read_at("q", "%a", "%next") +
                                         "    %s = stablehlo.add %p, %q : tensor<2xf32>\n" +
                                         "    %d = stablehlo.add %c, %s : tensor<2xf32>\n" +
                                         written_at("z", "%y", "%s", "%i"),
                                     "%d", "%z");
  const std::string program = program_of(text);
  EXPECT_FALSE(has(program, "dynamic")) << program;
  const auto y = ts::load_stablehlo_text(text)(table());
  EXPECT_EQ(y[0].to_vector<float>(), (Floats{51, 61}));
  EXPECT_EQ(y[1].to_vector<float>(), (Floats{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 7, 7}));
  // 120 + 5 * 3 does not fit int8 and wraps around.
  EXPECT_EQ(y[2].astype(ts::i32).item<int>(), -121);
}

// The position of a read is clamped, so that two iterations read the last row and their derivatives
// add up.
TEST(CountedLoops, ClampedReadsAreNoRows) {
  const std::string text =
      over_rows("    %far = stablehlo.add %i, %two : tensor<i32>\n" + read_at("p", "%a", "%far") +
                    "    %d = stablehlo.add %c, %p : tensor<2xf32>\n",
                "%d", "%y");
  EXPECT_TRUE(has(program_of(text), "dynamic_slice"));
  const auto f = ts::load_stablehlo_text(text);
  EXPECT_EQ(f(table())[0].to_vector<float>(),
            (Floats{1 + 4 + 6 + 8 + 10 + 10, 1 + 5 + 7 + 9 + 11 + 11}));
  const Array g = ts::grad([&](const Array& x) { return ts::sum(f(x)[0]); })(table());
  EXPECT_EQ(g.to_vector<float>(), (Floats{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2}));
}

// Two writes to one table, and a read of the row that was written one iteration before.
TEST(CountedLoops, TablesThatAreReadAndWrittenAreCarried) {
  const std::string text = over_rows(
      "    %before = stablehlo.subtract %i, %one : tensor<i32>\n" + read_at("p", "%y", "%before") +
          read_at("q", "%a", "%i") + "    %d = stablehlo.add %p, %q : tensor<2xf32>\n" +
          written_at("z", "%y", "%d", "%i") + written_at("w", "%z", "%c", "%next"),
      "%d", "%w");
  const std::string program = program_of(text);
  EXPECT_TRUE(has(program, "dynamic_update_slice"));
  EXPECT_FALSE(has(program, "while"));
  const auto y = ts::load_stablehlo_text(text)(table());
  // Row -1 is clamped to row 0, a seven.
  EXPECT_EQ(y[0].to_vector<float>(), (Floats{7 + 0 + 2 + 4 + 6 + 8, 7 + 1 + 3 + 5 + 7 + 9}));
  EXPECT_EQ(y[1].to_vector<float>(), (Floats{7, 8, 9, 11, 13, 16, 19, 23, 27, 32, 19, 23}));
}

// The loop reads and writes consecutive blocks of two rows, and reads every other row.
TEST(CountedLoops, BlocksAndEveryOtherRow) {
  const std::string text =
      R"(func.func @main(%x: tensor<6x2xf32>) -> (tensor<2x2xf32>, tensor<6x2xf32>) {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<2x2xf32>
  %all = stablehlo.constant dense<0.0> : tensor<6x2xf32>
  %r:4 = stablehlo.while(%i = %0, %a = %x, %c = %none, %y = %all) : tensor<i32>, tensor<6x2xf32>, tensor<2x2xf32>, tensor<6x2xf32>
  cond {
    %n = stablehlo.constant dense<6> : tensor<i32>
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %four = stablehlo.constant dense<4> : tensor<i32>
    %next = stablehlo.add %i, %two : tensor<i32>
    %b = stablehlo.dynamic_slice %a, %i, %0, sizes = [2, 2] : (tensor<6x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    %p = stablehlo.dynamic_slice %a, %i, %0, sizes = [1, 2] : (tensor<6x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %q = stablehlo.broadcast_in_dim %p, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<2x2xf32>
    %s = stablehlo.add %b, %q : tensor<2x2xf32>
    %d = stablehlo.add %c, %s : tensor<2x2xf32>
    %back = stablehlo.subtract %four, %i : tensor<i32>
    %z = stablehlo.dynamic_update_slice %y, %s, %back, %0 : (tensor<6x2xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<6x2xf32>
    stablehlo.return %next, %a, %d, %z : tensor<i32>, tensor<6x2xf32>, tensor<2x2xf32>, tensor<6x2xf32>
  }
  return %r#2, %r#3 : tensor<2x2xf32>, tensor<6x2xf32>
})";
  EXPECT_FALSE(has(program_of(text), "dynamic"));
  const auto f = ts::load_stablehlo_text(text);
  const auto y = f(table());
  EXPECT_EQ(y[0].to_vector<float>(), (Floats{24, 30, 30, 36}));
  EXPECT_EQ(y[1].to_vector<float>(), (Floats{16, 18, 18, 20, 8, 10, 10, 12, 0, 2, 2, 4}));
  const Array g = ts::grad([&](const Array& x) { return ts::sum(f(x)[0]); })(table());
  EXPECT_EQ(g.to_vector<float>(), (Floats{3, 3, 1, 1, 3, 3, 1, 1, 3, 3, 1, 1}));
}
