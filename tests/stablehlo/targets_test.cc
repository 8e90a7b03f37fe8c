// Modules for a platform: their texts, the routines that they call, donation and shardings of @main,
// and what a platform lacks.
#include "stablehlo/emit/target.h"

#include "message.h"
#include "ops/linalg/schur.h"
#include "ops/linalg/solve.h"
#include "ops/registry_values.h"
#include "stablehlo/emit/emission.h"
#include "stablehlo/emit/rules.h"
#include "stablehlo/roundtrip.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <regex>
#include <set>

namespace ts = tessera;
using test::message;
using ts::Array;
using ts::P;

namespace {

using Arrays = std::vector<Array>;
using Floats = std::vector<float>;

class OnEight : public testing::Test {
 protected:
  OnEight() { ts::set_device_count(8); }
  ~OnEight() override { ts::set_device_count(before_); }
  const int before_ = ts::device_count();
};

std::string first_line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return "none";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

bool is_library_op(const ts::Op& op) {
  const ts::stablehlo::Emission* e = ts::stablehlo::emission_of(op);
  return e && e->decomposed == ts::stablehlo::write::library_call;
}

std::string text_for(const ts::Program& p, const ts::stablehlo::Target& target) {
  return ts::stablehlo::emit_module(p, {}, target);
}

// The names of the custom calls in a module.
std::set<std::string> called(const std::string& text) {
  static const std::regex call("custom_call @(\\w+)");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

// An equation of each op that libraries compute, for matrices of this type.
std::vector<ts::ProgramPtr> library_programs(const ts::Type& matrix) {
  std::vector<ts::ProgramPtr> out;
  const auto add = [&](auto&& write) {
    ts::Builder b;
    out.push_back(b.finish(write(b.input(matrix))));
  };
  using ts::Value, ts::Values;
  const bool square = matrix.shape[0] == matrix.shape[1];
  add([](Value a) { return ts::ops::lu(a); });
  for (const bool full : {false, true}) {
    add([&](Value a) { return ts::ops::qr(a, full); });
    add([&](Value a) { return ts::ops::svd(a, true, full); });
  }
  add([](Value a) { return ts::ops::svd(a, false, false); });
  if (!square) return out;
  for (const bool vectors : {false, true}) {
    add([&](Value a) { return ts::ops::eigh(a, vectors); });
    add([&](Value a) { return ts::ops::eig(a, vectors); });
  }
  add([](Value a) { return ts::ops::schur(a); });
  return out;
}

TEST(Targets, EachOpOfALibraryHasATargetAndEachRowIsAnOp) {
  std::set<std::string_view> rows;
  std::set<std::string_view> platforms;
  for (const ts::stablehlo::Target& t : ts::stablehlo::targets()) {
    EXPECT_TRUE(platforms.insert(t.platform).second) << t.platform;
    EXPECT_EQ(ts::stablehlo::find_target(t.platform), &t);
    std::set<std::string_view> own;
    for (const ts::stablehlo::LibraryOp& l : t.library) {
      EXPECT_TRUE(own.insert(l.op).second) << t.platform << ": " << l.op << " twice";
      rows.insert(l.op);
      const ts::Op* op = ts::Registry::get().find(l.op);
      ASSERT_TRUE(op) << l.op;
      EXPECT_TRUE(is_library_op(*op)) << l.op << " is written without a library";
      EXPECT_EQ(t.find(*op), &l);
      EXPECT_TRUE(l.write);
      EXPECT_FALSE(l.dtypes.empty()) << l.op;
    }
  }
  EXPECT_EQ(platforms, (std::set<std::string_view>{"cpu", "cuda", "portable", "rocm", "tpu"}));
  for (const auto& op : ts::Registry::get().all())
    EXPECT_EQ(is_library_op(*op), rows.contains(op->name)) << op->name;
}

// Every routine that a target calls is one that JAX registers for the platform, and an op outside
// of its rows calls none.
TEST(Targets, CallTheRoutinesOfTheirPlatforms) {
  std::set<std::string> lapack;
  for (const char* letter : {"s", "d", "c", "z"})
    for (const char* routine : {"getrf", "geqrf", "gesdd", "geev", "gees"})
      lapack.insert(std::string("lapack_") + letter + routine + "_ffi");
  for (const char* routine :
       {"sorgqr", "dorgqr", "cungqr", "zungqr", "ssyevd", "dsyevd", "cheevd", "zheevd"})
    lapack.insert(std::string("lapack_") + routine + "_ffi");
  std::set<std::string> solver;
  for (const char* routine : {"getrf", "geqrf", "orgqr", "gesvdj", "gesvd", "syevd"})
    solver.insert(std::string("hipsolver_") + routine + "_ffi");
  std::set<std::string> cusolver{"cusolver_geev_ffi"};
  for (const std::string& name : solver) cusolver.insert("cusolver" + name.substr(9));
  const std::map<std::string_view, std::set<std::string>> known{
      {"cpu", lapack},
      {"cuda", cusolver},
      {"portable", {}},
      {"rocm", solver},
      {"tpu", {"LuDecomposition", "Qr", "ProductOfElementaryHouseholderReflectors", "Eigh"}}};
  for (const ts::stablehlo::Target& t : ts::stablehlo::targets()) {
    std::set<std::string> names;
    for (const ts::DType d : {ts::f32, ts::f64, ts::c64, ts::c128})
      for (const ts::Shape& shape : {ts::Shape{3, 3}, ts::Shape{1030, 2}, ts::Shape{2, 1030}})
        for (const ts::ProgramPtr& p : library_programs(ts::Type(d, shape))) {
          const ts::Op& op = *p->equations[0].op;
          const ts::stablehlo::LibraryOp* row = t.find(op);
          const bool has = row && std::count(row->dtypes.begin(), row->dtypes.end(), d);
          try {
            names.merge(called(text_for(*p, t)));
            EXPECT_TRUE(has) << t.platform << ": " << op.name;
          } catch (const ts::TraceError& e) {
            EXPECT_FALSE(has) << e.what();
          }
        }
    EXPECT_EQ(names, known.at(t.platform)) << t.platform;
  }
}

// What another reader makes of a module: composites of another name are read by their
// decomposition, which calls the platform's routines. The same bits come back.
TEST(Targets, DecompositionsGiveTheSameBits) {
  std::mt19937 random(5);
  for (const ts::stablehlo::Target& t : ts::stablehlo::targets())
    for (const ts::DType d : {ts::f32, ts::f64, ts::c64, ts::c128})
      for (const ts::Shape& shape :
           {ts::Shape{4, 4}, ts::Shape{2, 5, 5}, ts::Shape{5, 3}, ts::Shape{3, 5},
            ts::Shape{40, 34}, ts::Shape{34, 40}, ts::Shape{1030, 2}, ts::Shape{2, 1030},
            ts::Shape{0, 3}, ts::Shape{3, 0}, ts::Shape{0, 4, 4}}) {
        if (shape.size() == 3 && d == ts::c128) continue;
        ts::Type type(d, shape);
        for (const ts::ProgramPtr& p :
             library_programs(shape.size() == 3 ? ts::Type(d, {shape[1], shape[2]}) : type)) {
          ts::ProgramPtr program = p;
          if (shape.size() == 3) {  // the same equation of a batch
            ts::Builder b;
            const ts::Equation& e = p->equations[0];
            const ts::Values in{b.input(type)};
            program = b.finish(b.emit(*e.op, in, e.attrs));
          }
          const ts::Equation& e = program->equations[0];
          const ts::stablehlo::LibraryOp* row = t.find(*e.op);
          if (!row || !std::count(row->dtypes.begin(), row->dtypes.end(), d)) continue;
          std::string text = text_for(*program, t);
          for (std::size_t at; (at = text.find("\"tessera.")) != std::string::npos;)
            text.replace(at, 9, "\"another.");
          const walk::Arrays in{walk::draw(type, random, -1, 1, 0, 0)};
          const walk::Arrays want = evaluate(*program, in),
                             got = evaluate(*roundtrip::read(text).program, in);
          ASSERT_EQ(got.size(), want.size()) << text;
          for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].dtype, want[i].dtype) << text;
            ASSERT_EQ(got[i].shape, want[i].shape) << text;
            // Of small matrices Jacobi's method returns all columns, and the last ones are others
            // than those of the routine that returns some. GPUs and TPUs find eigenvalues with
            // their vectors, in another order of operations than without.
            const bool cut = text.find("gesvdj") != std::string::npos && shape[0] != shape[1] &&
                             std::min(shape[0], shape[1]) <= 32 && e.attrs.flag("vectors") &&
                             !e.attrs.flag("full");
            const bool with_vectors = text.find("tessera.eigh(") != std::string::npos &&
                                      t.platform != "cpu" && !e.attrs.flag("vectors");
            if (cut || with_vectors) continue;
            EXPECT_EQ(std::memcmp(got[i].bytes, want[i].bytes,
                                  static_cast<std::size_t>(want[i].size_bytes())),
                      0)
                << t.platform << ": result " << i << "\n"
                << text;
          }
        }
      }
}

// U S V^H is the matrix again where only some columns of what Jacobi's method returns are kept.
TEST(Targets, SomeColumnsOfAllThatJacobisMethodReturns) {
  for (const ts::Shape& shape : {ts::Shape{5, 3}, ts::Shape{3, 5}, ts::Shape{1, 4}}) {
    const Array a = ts::random::normal(ts::random::key(4), shape);
    std::string text = ts::stablehlo_text(
        {.platform = "cuda"},
        [](Array x) {
          const ts::linalg::SVD f = ts::linalg::svd(x, false);
          return ts::matmul(f.u * f.s, f.vh);
        },
        a);
    for (std::size_t at; (at = text.find("\"tessera.svd")) != std::string::npos;)
      text.replace(at, 9, "\"another.");
    EXPECT_TRUE(ts::allclose(ts::load_stablehlo_text(text)(a)[0], a, 1e-5, 1e-5).item<bool>());
  }
}

const Array kMatrix = ts::abstract(ts::f32, {2, 2});

std::string module_of(const std::string& main, const std::string& functions) {
  return "module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} "
         "{\n" +
         main + functions + "}\n";
}

TEST(Targets, TheOptionsAsTheyComeAreThoseOfCpus) {
  const auto f = [](Array x) { return ts::linalg::svd(x).s + ts::matmul(x, x); };
  EXPECT_EQ(ts::stablehlo_text({}, f, kMatrix), ts::stablehlo_text(f, kMatrix));
  const ts::StableHloOptions cpu{.platform = "cpu"};
  EXPECT_EQ(ts::stablehlo_text(cpu, f, kMatrix), ts::stablehlo_text(f, kMatrix));
}

TEST(Targets, EigenvaluesOnEachPlatform) {
  ts::Builder b;
  const ts::ProgramPtr eigh = b.finish(ts::ops::eigh(b.input(ts::Type(ts::f32, {2, 2})), false));
  const auto text_on = [&](const char* platform) {
    ts::stablehlo::Exported names;
    names.inputs = {"args[0]"};
    names.outputs = {"result"};
    return ts::stablehlo::emit_module(*eigh, names, *ts::stablehlo::find_target(platform));
  };
  const std::string main =
      "  func.func public @main(%arg0: tensor<2x2xf32> loc(\"args[0]\")) -> (tensor<2xf32> "
      "{jax.result_info = \"result\"}) {\n"
      "    %0 = stablehlo.composite \"tessera.eigh\" %arg0 {composite_attributes = {vectors = "
      "false}, decomposition = @tessera.eigh} : (tensor<2x2xf32>) -> tensor<2xf32>\n"
      "    return %0 : tensor<2xf32>\n"
      "  }\n"
      "  func.func private @tessera.eigh(%arg0: tensor<2x2xf32>) -> (tensor<2xf32>) {\n";
  const std::string end = "    return %0#1 : tensor<2xf32>\n  }\n";
  const std::string layouts =
      "operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : "
      "tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : "
      "(tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<i32>)\n";
  EXPECT_EQ(text_on("cpu"),
            module_of(main,
                      "    %0:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%arg0) "
                      "{mhlo.backend_config = {mode = 78 : ui8, uplo = 76 : ui8}, " +
                          layouts + end));
  for (const auto& [platform, library] :
       {std::pair("cuda", "cusolver"), std::pair("rocm", "hipsolver")})
    EXPECT_EQ(text_on(platform),
              module_of(main, std::string("    %0:3 = stablehlo.custom_call @") + library +
                                  "_syevd_ffi(%arg0) {mhlo.backend_config = {algorithm = 0 : ui8, "
                                  "lower = true}, " +
                                  layouts + end));
  EXPECT_EQ(text_on("tpu"),
            module_of(main,
                      "    %0:2 = stablehlo.custom_call @Eigh(%arg0) {backend_config = "
                      "\"1,1,100,1e-6\"} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, "
                      "tensor<2xf32>)\n" +
                          end));
}

TEST(Targets, APortableModuleHasOperationsOfStableHloOnly) {
  const auto f = [](Array a, Array b) {
    return ts::with_sharding_constraint(ts::linalg::solve_triangular(a, b, {.lower = true}),
                                        ts::Sharding(ts::make_mesh({1}, {"x"}), P("x")));
  };
  EXPECT_EQ(
      ts::stablehlo_text({.platform = "portable"}, f, kMatrix, kMatrix),
      module_of("  func.func public @main(%arg0: tensor<2x2xf32> loc(\"args[0]\"), %arg1: "
                "tensor<2x2xf32> loc(\"args[1]\")) -> (tensor<2x2xf32> {jax.result_info = "
                "\"result\"}) {\n"
                "    %0 = \"stablehlo.triangular_solve\"(%arg0, %arg1) <{left_side = true, lower = "
                "true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : "
                "(tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n"
                "    return %0 : tensor<2x2xf32>\n"
                "  }\n",
                ""));
}

// The first result with the type of a donated argument takes its memory.
TEST(Targets, DonatedArgumentsSayWhichResultTakesTheirMemory) {
  const auto step = ts::jit(
      [](std::pair<Array, Array> weights, Array x, Array spare, Array kept) {
        return Arrays{ts::sum(x), weights.second + 1, weights.first + kept, spare * 2};
      },
      {.donate = {0, 2}});
  const auto arguments = [&](const ts::StableHloOptions& options) {
    const std::string text = ts::stablehlo_text(
        options, step, std::pair(ts::abstract(ts::f32, {2, 2}), ts::abstract(ts::f32, {2, 2})),
        ts::abstract(ts::f32, {3}), ts::abstract(ts::i32, {7}), ts::abstract(ts::f32, {2, 2}));
    const std::string line = first_line_with(text, "@main(");
    return line.substr(line.find('('), line.find(" -> ") - line.find('('));
  };
  EXPECT_EQ(arguments({.donation = true}),
            "(%arg0: tensor<2x2xf32> {tf.aliasing_output = 1 : i32} loc(\"args[0]/0\"), %arg1: "
            "tensor<2x2xf32> {tf.aliasing_output = 2 : i32} loc(\"args[0]/1\"), %arg2: "
            "tensor<3xf32> loc(\"args[1]\"), %arg3: tensor<7xi32> {tf.aliasing_output = 3 : i32} "
            "loc(\"args[2]\"), %arg4: tensor<2x2xf32> loc(\"args[3]\"))");
  EXPECT_EQ(arguments({}),
            "(%arg0: tensor<2x2xf32> loc(\"args[0]/0\"), %arg1: tensor<2x2xf32> "
            "loc(\"args[0]/1\"), %arg2: tensor<3xf32> loc(\"args[1]\"), %arg3: tensor<7xi32> "
            "loc(\"args[2]\"), %arg4: tensor<2x2xf32> loc(\"args[3]\"))");
}

TEST(Targets, DonatedArgumentsWithoutSuchAResultAreDonors) {
  const auto f = ts::jit([](Array x, Array y) { return ts::reshape(x, {4}) + y; }, {.donate = {0}});
  EXPECT_EQ(
      first_line_with(
          ts::stablehlo_text({.donation = true}, f, kMatrix, ts::abstract(ts::f32, {4})), "@main("),
      "  func.func public @main(%arg0: tensor<2x2xf32> {jax.buffer_donor = true} "
      "loc(\"args[0]\"), %arg1: tensor<4xf32> loc(\"args[1]\")) -> (tensor<4xf32> "
      "{jax.result_info = \"result\"}) {");
  // A function that no jit was made of donates nothing.
  const auto plain = [](Array x) { return x + 1; };
  EXPECT_EQ(ts::stablehlo_text({.donation = true}, plain, kMatrix),
            ts::stablehlo_text(plain, kMatrix));
}

TEST(Targets, ALoadedFunctionSaysWhichArgumentsWereDonated) {
  const ts::LoadedFunction f = ts::load_stablehlo_text(R"(
func.func @main(%a: tensor<f32> {tf.aliasing_output = 0 : i32}, %b: tensor<f32> {jax.buffer_donor = true}, %c: tensor<f32> {jax.buffer_donor = false}, %d: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
})");
  std::vector<bool> donated;
  for (const ts::ArrayType& t : f.inputs()) donated.push_back(t.donated);
  EXPECT_EQ(donated, (std::vector<bool>{true, true, false, false}));
  EXPECT_FALSE(f.outputs()[0].donated);
  // A call leaves them as they are.
  const Array a(2.0f), b(3.0f);
  EXPECT_EQ(f(a, b, a, a)[0].item<float>(), 5);
  EXPECT_EQ(a.item<float>() + b.item<float>(), 5);
}

using TargetsOnEight = OnEight;

// The shardings of a jit are those of @main, and a constraint inside stays where it is.
TEST_F(TargetsOnEight, ShardingsOfArgumentsAndResults) {
  const ts::Mesh mesh = ts::make_mesh({4, 2}, {"data", "model"});
  const auto f = ts::jit(
      [](Array w, Array x, Array y) {
        const Array h = ts::with_sharding_constraint(x + y, P("data"));
        return Arrays{w * w, -h};
      },
      {.mesh = mesh,
       .in_shardings = {P(ts::none, "model"), P("data"), ts::unconstrained},
       .out_shardings = {P(ts::none, "model"), ts::unconstrained},
       .donate = {0, 1}});
  const Array w = ts::arange(16).astype(ts::f32).reshape({2, 8}),
              x = ts::arange(32).astype(ts::f32).reshape({8, 4}), y = ts::ones({8, 4});
  const std::string text =
      ts::stablehlo_text({.platform = "cuda", .donation = true, .shardings = true}, f, w, x, y);
  EXPECT_EQ(
      text,
      "module @main attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  sdy.mesh @mesh = <[\"data\"=4, \"model\"=2]>\n"
      "  func.func public @main(%arg0: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, "
      "{\"model\"}]>, tf.aliasing_output = 0 : i32} loc(\"args[0]\"), %arg1: tensor<8x4xf32> "
      "{jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{\"data\"}, {}]>} "
      "loc(\"args[1]\"), %arg2: tensor<8x4xf32> loc(\"args[2]\")) -> (tensor<2x8xf32> "
      "{jax.result_info = \"result[0]\", sdy.sharding = #sdy.sharding<@mesh, [{}, {\"model\"}]>}, "
      "tensor<8x4xf32> {jax.result_info = \"result[1]\"}) {\n"
      "    %0 = stablehlo.add %arg1, %arg2 : tensor<8x4xf32>\n"
      "    %1 = sdy.sharding_constraint %0 <@mesh, [{\"data\"}, {}]> : tensor<8x4xf32>\n"
      "    %2 = stablehlo.multiply %arg0, %arg0 : tensor<2x8xf32>\n"
      "    %3 = stablehlo.negate %1 : tensor<8x4xf32>\n"
      "    return %2, %3 : tensor<2x8xf32>, tensor<8x4xf32>\n"
      "  }\n"
      "}\n");
  // Read back, it runs on the eight devices as the jit does.
  const ts::LoadedFunction g = ts::load_stablehlo_text(text);
  EXPECT_TRUE(g.inputs()[0].donated && g.inputs()[1].donated && !g.inputs()[2].donated);
  const Arrays got = g(w, x, y), want = f(w.copy(), x.copy(), y);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(ts::array_equal(got[i], want[i]).item<bool>()) << i;
    EXPECT_EQ(got[i].sharding().spec(), want[i].sharding().spec()) << i;
    EXPECT_EQ(got[i].shards().size(), 8u);
  }
  // As constraints in the body, the shardings say the same.
  const Arrays inside = ts::load_stablehlo_text(ts::stablehlo_text(f, w, x, y))(w, x, y);
  EXPECT_EQ(inside[0].sharding().spec(), want[0].sharding().spec());
}

// A constraint of a value that something else reads, too, is no sharding of the argument or result.
TEST_F(TargetsOnEight, ConstraintsOfOneUseStayInside) {
  const ts::Mesh mesh = ts::make_mesh({8}, {"x"});
  const auto f = [&](Array a) {
    const Array b = ts::with_sharding_constraint(a, ts::Sharding(mesh, P("x")));
    const Array c = ts::with_sharding_constraint(a * b, ts::Sharding(mesh, P("x")));
    return Arrays{c, ts::sin(c)};
  };
  const std::string text = ts::stablehlo_text({.shardings = true}, f, ts::abstract(ts::f32, {8}));
  EXPECT_EQ(text.find("sdy.sharding ="), std::string::npos) << text;
  EXPECT_EQ(text, ts::stablehlo_text(f, ts::abstract(ts::f32, {8})));
}

// An array that lies over devices has its own sharding, where the function asks for none.
TEST_F(TargetsOnEight, ShardingsOfArraysThatArePassed) {
  const ts::Mesh mesh = ts::make_mesh({8}, {"x"});
  const Array a = ts::device_put(ts::arange(16).astype(ts::f32), mesh, P("x")), b = ts::ones({16});
  const auto f = [](Array a, Array b) { return ts::sum(a * b); };
  const std::string text = ts::stablehlo_text({.shardings = true}, f, a, b);
  EXPECT_EQ(first_line_with(text, "@main("),
            "  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, "
            "[{\"x\"}]>} loc(\"args[0]\"), %arg1: tensor<16xf32> loc(\"args[1]\")) -> (tensor<f32> "
            "{jax.result_info = \"result\"}) {");
  EXPECT_EQ(ts::load_stablehlo_text(text)(a, b)[0].item<float>(), 120);
  EXPECT_EQ(ts::stablehlo_text(f, a, b).find("sdy"), std::string::npos);
}

// A training step over eight devices, written with shardings and donation and loaded again.
TEST_F(TargetsOnEight, ATrainingStepComesBack) {
  const ts::Mesh mesh = ts::make_mesh({4, 2}, {"data", "model"});
  const auto step = ts::jit(
      [](std::pair<Array, Array> w, Array x, Array y) {
        auto [loss, g] = ts::value_and_grad([&](std::pair<Array, Array> w) {
          const Array h = ts::tanh(ts::matmul(x, w.first));
          return ts::mean(ts::square(ts::matmul(h, w.second) - y));
        })(w);
        return std::tuple(std::pair(w.first - 0.1 * g.first, w.second - 0.1 * g.second), loss);
      },
      {.mesh = mesh,
       .in_shardings = {{P(ts::none, "model"), P("model")}, P("data"), P("data")},
       .out_shardings = {{P(ts::none, "model"), P("model")}, P()},
       .donate = {0}});
  const auto normal = [](std::uint64_t seed, const ts::Shape& shape) {
    return ts::random::normal(ts::random::key(seed), shape);
  };
  const Array w = normal(1, {4, 8}), v = normal(2, {8, 2}), x = normal(3, {16, 4}),
              y = normal(4, {16, 2});
  const ts::LoadedFunction f = ts::load_stablehlo_text(ts::stablehlo_text(
      {.platform = "tpu", .donation = true, .shardings = true}, step, std::pair(w, v), x, y));
  EXPECT_TRUE(f.inputs()[0].donated && f.inputs()[1].donated);
  const Arrays got = f(w, v, x, y);
  const auto [weights, loss] = step(std::pair(w.copy(), v.copy()), x, y);
  EXPECT_TRUE(ts::array_equal(got[0], weights.first).item<bool>());
  EXPECT_TRUE(ts::array_equal(got[1], weights.second).item<bool>());
  EXPECT_TRUE(ts::array_equal(got[2], loss).item<bool>());
  EXPECT_EQ(got[0].sharding().spec(), weights.first.sharding().spec());
  EXPECT_EQ(got[1].sharding().spec(), weights.second.sharding().spec());
}

TEST(TargetErrors, AnUnknownPlatform) {
  const auto f = [](Array x) { return x; };
  EXPECT_EQ(message<ts::TraceError>([&] { ts::stablehlo_text({.platform = "gpu"}, f, kMatrix); }),
            "stablehlo_text: there is no platform 'gpu' to write a module for\n"
            "  rule: the platforms are cpu, cuda, portable, rocm and tpu\n"
            "  try: {.platform = \"cuda\"}");
  EXPECT_EQ(message<ts::TraceError>(
                [&] { ts::save_stablehlo({.platform = ""}, f, kMatrix, "no_module.mlir"); }),
            "save_stablehlo: there is no platform '' to write a module for\n"
            "  rule: the platforms are cpu, cuda, portable, rocm and tpu\n"
            "  try: {.platform = \"cuda\"}");
}

TEST(TargetErrors, WhatAPlatformHasNoRoutineFor) {
  const auto text = [](const char* platform, auto f, ts::DType d) {
    return message<ts::TraceError>([&] {
      ts::stablehlo_text({.platform = platform}, f, ts::abstract(d, {2, 2}));
    });
  };
  EXPECT_EQ(text(
                "portable", [](Array x) { return ts::linalg::svdvals(x); }, ts::f32),
            "stablehlo_text: the platform 'portable' has no routine for svd\n"
            "  rule: StableHLO and CHLO have no svd; it is written for cpu, cuda and rocm\n"
            "  try: {.platform = \"cpu\"}, or compute it outside of the function, and pass the "
            "result");
  EXPECT_EQ(text(
                "rocm", [](Array x) { return ts::linalg::eigvals(x); }, ts::f64),
            "stablehlo_text: the platform 'rocm' has no routine for eig\n"
            "  rule: the routines of rocm are those for lu, qr, svd and eigh; it is written for "
            "cpu and cuda\n"
            "  try: {.platform = \"cpu\"}, or compute it outside of the function, and pass the "
            "result");
  EXPECT_EQ(text(
                "tpu", [](Array x) { return ts::linalg::lu_factor(x).lu; }, ts::f64),
            "stablehlo_text: the platform 'tpu' has no routine for lu of float64\n"
            "  rule: tpu has it for float32; it is written for cpu, cuda and rocm\n"
            "  try: {.platform = \"cpu\"}, or compute it outside of the function, and pass the "
            "result");
}

TEST_F(TargetsOnEight, APortableModuleIsForOneDevice) {
  const ts::Mesh mesh = ts::make_mesh({8}, {"x"});
  const auto f = ts::shard_map([](Array a) { return ts::psum(a, "x"); },
                               {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}});
  EXPECT_EQ(
      message<ts::TraceError>(
          [&] { ts::stablehlo_text({.platform = "portable"}, f, ts::abstract(ts::f32, {8})); }),
      "stablehlo_text: a shard_map runs on several devices, and the module is for the platform "
      "'portable'\n"
      "  rule: maps over devices are Shardy's operations; StableHLO and CHLO have none\n"
      "  try: {.platform = \"cpu\"}, or another platform whose compiler has Shardy");
  EXPECT_EQ(message<ts::TraceError>([&] {
              ts::stablehlo_text(
                  {.platform = "portable", .shardings = true}, [](Array x) { return x; }, kMatrix);
            }),
            "stablehlo_text: a module for the platform 'portable' has no shardings\n"
            "  rule: shardings are Shardy's attributes; StableHLO and CHLO have none\n"
            "  try: leave .shardings out, or {.platform = \"cpu\", .shardings = true}");
}

}  // namespace
