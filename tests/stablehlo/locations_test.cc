// Locations of modules: the lines and named scopes that equations, errors and programs show.
#include "base/named_scopes.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ir/program.h"
#include "stablehlo/bytecode/read.h"
#include "stablehlo/import/import.h"
#include "stablehlo/import/name_stack.h"
#include "stablehlo/import/origins.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ts = tessera;
using namespace tessera::stablehlo;

namespace {

std::string in_folder(const std::string& file) {
  return std::string(TESSERA_TEST_DIR) + "/stablehlo/exported/" + file;
}

ModuleSyntax parsed(const std::string& text) {
  const auto source = std::make_shared<Source>(Source{{}, text});
  return parse(source, {0, text.size()}).at(0);
}

ModuleSyntax stored(const std::string& file) {
  std::ifstream in(in_folder(file), std::ios::binary);
  Source source;
  source.text.assign(std::istreambuf_iterator<char>(in), {});
  return read_bytecode(source);
}

std::string program_of(const ModuleSyntax& module) {
  return ts::to_string(*import_function(module, "main").program, {.locations = true});
}

// A line for each equation: "tanh model.py:3 in layer".
std::string origins_of(const ts::Program& program, const std::string& indent = "") {
  std::string text;
  for (const ts::Equation& e : program.equations) {
    text += indent + e.op->name + " " + ts::to_string(e.loc);
    text += e.scope.empty() ? "\n" : " in " + e.scope + "\n";
    if (const auto flow = ts::flow_of(e))
      for (const ts::ProgramPtr& inside : flow->programs)
        text += origins_of(*inside, indent + "  ");
  }
  return text;
}

// A function of one addition whose location is given, after definitions of others.
std::string addition(const std::string& location, const std::string& others = "") {
  return "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
         "  %0 = stablehlo.add %a, %a : tensor<f32> loc(" +
         location + ")\n  return %0 : tensor<f32>\n}\n" + others;
}

// The line and the scope of the addition: "model.py:3 f in layer".
std::string origin(const std::string& location, const std::string& others = "") {
  const ModuleSyntax module = parsed(addition(location, others));
  Origins origins(module.locations.get());
  const Origin& o = origins.of(module.functions[0].body.operations[0].location);
  std::string text = ts::to_string(o.line);
  if (o.line && *o.line.function) text += std::string(" ") + o.line.function;
  return o.scope.empty() ? text : text + " in " + o.scope;
}

TEST(NameStacks, HaveTheScopesThatUsersName) {
  EXPECT_EQ(scopes_in("add"), "");
  EXPECT_EQ(scopes_in("jit(f)/jit(main)/add"), "");
  EXPECT_EQ(scopes_in("jit(f)/layer/add"), "layer");
  EXPECT_EQ(scopes_in("jit(step)/transpose(jvp(model))/layer_0/dot_general"), "model/layer_0");
  EXPECT_EQ(scopes_in("jit(f)/jvp()/jit"), "");
  EXPECT_EQ(scopes_in("jit(f)/vmap(jvp(jit(g)))/layer/add"), "layer");
  // A name may have slashes and parentheses of its own.
  EXPECT_EQ(scopes_in("jit(f)/jvp(a/b)/c(d)/add"), "a/b/c(d)");
  EXPECT_EQ(scopes_in("a)/b/add"), "a)/b");
  EXPECT_EQ(scopes_in("(a/b"), "");
  // Control flow.
  EXPECT_EQ(scopes_in("outer/while/body/inner/add"), "outer/inner");
  EXPECT_EQ(scopes_in("jvp(while)/cond/lt"), "");
  EXPECT_EQ(scopes_in("cond/branch_1_fun/closed_call/a/add"), "a");
  EXPECT_EQ(scopes_in("checkpoint/rematted_computation/a/add"), "a");
  EXPECT_EQ(scopes_in("body/branch_1_fun/cond/add"), "body/branch_1_fun/cond");
  EXPECT_EQ(scopes_in(""), "");
}

TEST(NameStacks, AreJoinedOnce) {
  EXPECT_EQ(ts::scopes_within("", "a"), "a");
  EXPECT_EQ(ts::scopes_within("a", ""), "a");
  EXPECT_EQ(ts::scopes_within("a", "b"), "a/b");
  EXPECT_EQ(ts::scopes_within("a", "a/b"), "a/b");
  EXPECT_EQ(ts::scopes_within("a", "a"), "a");
  EXPECT_EQ(ts::scopes_within("a", "ab"), "a/ab");
}

TEST(Locations, OfATextAreReadInAllForms) {
  EXPECT_EQ(origin("unknown"), "");
  EXPECT_EQ(origin("\"a/b/model.py\":3:7"), "model.py:3");
  EXPECT_EQ(origin("\"model.py\":3:7 to :9"), "model.py:3");
  EXPECT_EQ(origin("\"layer/add\""), " in layer");
  EXPECT_EQ(origin("\"layer/add\"(\"model.py\":3:7 to 4:9)"), "model.py:3 in layer");
  EXPECT_EQ(origin("\"layer/add\"(\"f\"(\"model.py\":3:7))"), "model.py:3 f in layer");
  EXPECT_EQ(origin("\"add:\"(\"layer/add\"(\"f\"(\"model.py\":3:7)))"), "model.py:3 f in layer");
  EXPECT_EQ(origin("callsite(\"f\"(\"model.py\":3:7) at \"g\"(\"train.py\":9:1))"), "model.py:3 f");
  EXPECT_EQ(origin("\"layer/add\"(callsite(\"f\"(\"model.py\":3:7) at callsite(\"g\"(\"b.py\":8:1) "
                   "at \"h\"(\"train.py\":9:1))))"),
            "model.py:3 f in layer");
  EXPECT_EQ(origin("fused[\"layer/add\", \"model.py\":3:7]"), "model.py:3 in layer");
  EXPECT_EQ(origin("fused<\"cse\">[unknown, \"model.py\":3:7, \"b.py\":4:1]"), "model.py:3");
  EXPECT_EQ(origin("\"a \\22b\\22/\\C3\\A4/add\""), " in a \"b\"/\u00e4");
  EXPECT_EQ(origin("#loc2",
                   "#loc = loc(\"f\"(\"model.py\":3:7))\n#loc1 = loc(callsite(#loc at "
                   "unknown))\n#loc2 = loc(\"layer/add\"(#loc1))\n"),
            "model.py:3 f in layer");
}

TEST(Locations, OfInstalledPackagesGiveWayToTheUsersOwn) {
  const std::string flax = "\"Dense.__call__\"(\"/env/lib/site-packages/flax/linear.py\":287:8)";
  EXPECT_EQ(origin("\"Dense_0/dot\"(callsite(" + flax + " at \"MLP.__call__\"(\"model.py\":3:7)))"),
            "model.py:3 MLP.__call__ in Dense_0");
  EXPECT_EQ(origin("\"Dense_0/dot\"(" + flax + ")"), "linear.py:287 Dense.__call__ in Dense_0");
}

TEST(Locations, ThatSayNothingAreUnknown) {
  EXPECT_EQ(origin("#loc7"), "");
  EXPECT_EQ(origin("#loc", "#loc = loc(#loc)\n"), "");
  EXPECT_EQ(origin("#loc", "#loc = loc(callsite(#loc at #loc))\n"), "");
  EXPECT_EQ(origin("#loc", "#loc = loc(fused[#loc, #loc, \"model.py\":3:7, #loc])\n"),
            "model.py:3");
  EXPECT_EQ(origin("callsite(\"f.py\":1:1)"), "");
  EXPECT_EQ(origin("callsite"), "");
  EXPECT_EQ(origin("fused"), "");
  EXPECT_EQ(origin("fused[]"), "");
  EXPECT_EQ(origin("a.b"), "");
  EXPECT_EQ(origin("\"model.py\":0:0"), "");
  EXPECT_EQ(origin("\"model.py\":99999999999999999999:0"), "");
  // Chains that double at each step are read in little time.
  std::string doubling = "#loc0 = loc(\"model.py\":3:7)\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "#loc" + std::to_string(i - 1);
    doubling +=
        "#loc" + std::to_string(i) + " = loc(fused[unknown, " + before + ", " + before + "])\n";
  }
  EXPECT_EQ(origin("#loc59", doubling), "model.py:3");
  std::string deep = "\"model.py\":3:7";
  for (int i = 0; i < 10000; ++i) deep = "\"a\"(" + deep + ")";
  EXPECT_EQ(origin(deep), "");
}

// A function with a call, a loop and a branch inside, as JAX 0.10 writes them: operations of
// functions have names that begin anew, and those of regions go on.
TEST(Locations, AreThoseOfCallsWhereFunctionsHaveNone) {
  const std::string text = R"mlir(
func.func public @main(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {
  %0 = call @relu(%x) : (tensor<f32>) -> tensor<f32> loc(#call)
  %c = stablehlo.constant dense<2.5> : tensor<f32> loc(unknown)
  %1 = stablehlo.multiply %0, %c : tensor<f32> loc(#multiply)
  %2 = "stablehlo.if"(%p) ({
    %3 = stablehlo.sine %1 : tensor<f32> loc("model/cond/branch_0_fun/wave/sin"("m.py":7:1))
    %4 = call @relu(%3) : (tensor<f32>) -> tensor<f32> loc("model/cond/branch_0_fun/wave/jit(relu)")
    stablehlo.return %4 : tensor<f32>
  }, {
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32> loc("model/cond"("m.py":6:1))
  return %2 : tensor<f32>
}
func.func private @relu(%x: tensor<f32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.maximum %x, %c : tensor<f32> loc("inner/max")
  return %0 : tensor<f32>
}
#call = loc("jit(f)/model/jit(relu)"("f"("m.py":3:1)))
#multiply = loc("jit(f)/model/mul"("f"("m.py":4:1)))
)mlir";
  EXPECT_EQ(program_of(parsed(text)), R"(main { (a: f32[], b: bool[]) -> (j)
  c: f32[] = constant [value=f32[] 0.0]  # m.py:3 in model
  d: f32[] = max a c  # m.py:3 in "model/inner"
  e: f32[] = constant [value=f32[] 2.5]
  f: f32[] = mul d e  # m.py:4 in model
  g: i32[] = constant [value=i32[] 1]  # m.py:6 in model
  h: i32[] = constant [value=i32[] 0]  # m.py:6 in model
  i: i32[] = select b h g  # m.py:6 in model
  j: f32[] = cond i f [
    branches=(
      { (a: f32[]) -> (d)
        b: f32[] = sin a  # m.py:7 in wave
        c: f32[] = constant [value=f32[] 0.0]  # m.py:6 in wave
        d: f32[] = max b c  # m.py:6 in "wave/inner"
      },
      { (a: f32[]) -> (a) }
    )
  ]  # m.py:6 in model
}
)");
}

// The lines and the scopes are in both forms, and an artifact says what the text says.
TEST(Locations, OfBytecodeAreThoseOfTheText) {
  const ModuleSyntax artifact = stored("scopes.mlirbc");
  std::ifstream in(in_folder("scopes.mlir"));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(program_of(parsed(text)), program_of(artifact));
  EXPECT_EQ(origins_of(*import_function(artifact, "main").program),
            R"(dot_general scopes.py:17 in model/layer
tanh scopes.py:17 in model/layer
constant scopes.py:29
broadcast_in_dim scopes.py:17 in model/layer
sub scopes.py:17 in model/layer
constant scopes.py:29
scan scopes.py:24 in model
  reshape scopes.py:24
  reshape scopes.py:24
  sin scopes.py:24
  cos scopes.py:24
  reduce_sum scopes.py:24
  add scopes.py:24
  broadcast_in_dim scopes.py:24
  reshape scopes.py:24
constant scopes.py:25
broadcast_in_dim scopes.py:25
max scopes.py:25
constant scopes.py:29
broadcast_in_dim scopes.py:25
gt scopes.py:25
reduce_sum scopes.py:25
add scopes.py:25
constant scopes.py:34
broadcast_in_dim scopes.py:25
constant scopes.py:29
broadcast_in_dim scopes.py:25
select scopes.py:25
scan scopes.py:24 in model
  reshape scopes.py:24
  reshape scopes.py:24
  broadcast_in_dim scopes.py:24
  mul scopes.py:24
  broadcast_in_dim scopes.py:24
  reshape scopes.py:24
add scopes.py:24 in model
mul scopes.py:17 in model/layer
mul scopes.py:17 in model/layer
add scopes.py:17 in model/layer
dot_general scopes.py:17 in model/layer
transpose scopes.py:17 in model/layer
constant scopes.py:34
broadcast_in_dim scopes.py:31 in update
mul scopes.py:31 in update
sub scopes.py:31 in update
)");
}

std::string message_of(const std::string& text) {
  try {
    ts::load_stablehlo_text(text, {}, std::source_location());
  } catch (const ts::IoError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Locations, AreInErrors) {
  const std::string text = R"mlir(
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("model/jit(f)"("train"("/src/train.py":9:1)))
  return %0 : tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @unheard_of(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("layer/custom")
  return %0 : tensor<4xf32>
}
)mlir";
  EXPECT_EQ(
      message_of(text),
      "load_stablehlo_text: line 7, column 8: stablehlo.custom_call: the custom call 'unheard_of' "
      "is not supported\n"
      "        %0 = stablehlo.custom_call @unheard_of(%a) : ...\n"
      "             ^\n"
      "  rule: a custom call is code of another library\n"
      "  from: train.py:9\n"
      "  in: model/layer\n"
      "  try: export the function for a platform without it, or write this part with Tessera");
  const auto scope = ts::named_scope("loading");
  try {
    ts::load_stablehlo_text(text);
    FAIL();
  } catch (const ts::IoError& e) {
    EXPECT_EQ(e.parts().file, "/src/train.py");
    EXPECT_EQ(e.parts().line, 9);
    EXPECT_EQ(e.scope(), "loading/model/layer");
  }
}

TEST(Locations, AreInErrorsOfBytecode) {
  std::ifstream in(in_folder("scopes.mlirbc"), std::ios::binary);
  Source source;
  source.text.assign(std::istreambuf_iterator<char>(in), {});
  const std::size_t at = source.text.find("subtract_v1");
  ASSERT_NE(at, source.text.npos);
  source.text.replace(at, 2, "be");
  const ModuleSyntax module = read_bytecode(source);
  try {
    import_function(module, "main");
    FAIL();
  } catch (const ts::IoError& e) {
    EXPECT_STREQ(e.what(),
                 "load_stablehlo: byte 1286: 'stablehlo.bebtract' is not supported\n"
                 "  from: scopes.py:17\n"
                 "  in: model/layer\n"
                 "  try: lower it to operations of StableHLO that are, or leave it out of the "
                 "exported function");
  }
}

// Plans and profiles of functions from Python have their lines and scopes.
TEST(Locations, AreInPlans) {
  const auto f =
      ts::load_stablehlo_text(addition("\"model/add\"(\"f\"(\"/no/folder/model.py\":3:7))"));
  const ts::Plan plan = ts::jit([f](const ts::Array& x) {
                          return f(std::vector<ts::Array>{x});
                        }).explain(ts::zeros(ts::Shape{}));
  ASSERT_EQ(plan.equations.size(), 1u);
  EXPECT_EQ(plan.equations[0].line, "model.py:3");
  EXPECT_EQ(plan.equations[0].scope, "model");
}

}  // namespace
