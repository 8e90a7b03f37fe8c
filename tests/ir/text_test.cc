// Programs print as text that reads back to the same program.
#include "ir/builder.h"
#include "ir/op.h"
#include "ops/build.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace ts = tessera;
namespace ops = tessera::ops;

namespace {

// An op with an attribute of every kind, whose results are those of its body.
const ts::Op& nest() {
  static const ts::Op* op = [] {
    ts::Op o;
    o.name = "nest";
    o.outputs = -1;
    o.attrs = {{"flag", ts::AttrKind::boolean, "."},      {"count", ts::AttrKind::integer, "."},
               {"rate", ts::AttrKind::real, "."},         {"label", ts::AttrKind::string, "."},
               {"dtype", ts::AttrKind::dtype, "."},       {"dims", ts::AttrKind::ints, "."},
               {"groups", ts::AttrKind::int_lists, "."},  {"names", ts::AttrKind::strings, "."},
               {"table", ts::AttrKind::literal, "."},     {"body", ts::AttrKind::program, "."},
               {"branches", ts::AttrKind::programs, "."}, {"rule", ts::AttrKind::hook, "."}};
    o.infer = [](const ts::InferArgs& a) {
      return a.attrs.has("body") && a.attrs.program("body")
                 ? a.attrs.program("body")->output_types()
                 : std::vector<ts::Type>{};
    };
    ts::Registry::get().add(std::move(o));
    return ts::Registry::get().find("nest");
  }();
  return *op;
}

ts::ProgramPtr negate(const std::string& name) {
  ts::Builder b(name);
  ts::Value x = b.input(ts::Type(ts::f32, {2}));
  return b.finish(ts::Values{ops::neg(x)});
}

ts::ProgramPtr nested(ts::Attrs attrs) {
  ts::Builder b;
  ts::Value x = b.input(ts::Type(ts::f32, {2}));
  return b.finish(b.emit(nest(), ts::Values{x}, std::move(attrs)));
}

void expect_round_trip(const ts::Program& p) {
  std::string text = to_string(p);
  ts::ProgramPtr back = ts::parse_program(text);
  EXPECT_TRUE(same_structure(p, *back)) << text;
  EXPECT_EQ(to_string(*back), text);
}

std::string parse_error(const std::string& text) {
  try {
    ts::parse_program(text);
  } catch (const ts::TraceError& e) {
    return e.what();
  }
  return "no error";
}

struct Rule : ts::Hook {
  std::string name() const override { return "my rule"; }
};

}  // namespace

TEST(Text, PrintsEquationsInOrder) {
  ts::Builder b;
  ts::Value x = b.input(ts::Type(ts::f32, {8, 16})), bias = b.input(ts::Type(ts::f32, {16}));
  ts::Value y = ops::add(x, ops::broadcast_in_dim(bias, {8, 16}, {1}));
  ts::ProgramPtr p = b.finish(ts::Values{y, ops::reduce_sum(y, {0, 1})});
  EXPECT_EQ(to_string(*p),
            "{ (a: f32[8,16], b: f32[16]) -> (d, e)\n"
            "  c: f32[8,16] = broadcast_in_dim b [shape=(8, 16), dims=(1)]\n"
            "  d: f32[8,16] = add a c\n"
            "  e: f32[] = reduce_sum d [axes=(0, 1)]\n"
            "}\n");
  expect_round_trip(*p);
}

TEST(Text, PrintsNamesTypesAndNoEquations) {
  ts::Builder b("my step");
  ts::Type t(ts::bf16, {4}, true);
  t.varying = {"data", "an axis"};
  ts::Value x = b.input(t);
  ts::ProgramPtr p = b.finish(ts::Values{x, x});
  EXPECT_EQ(to_string(*p), "\"my step\" { (a: bf16[4]*{varying: \"an axis\", data}) -> (a, a) }\n");
  expect_round_trip(*p);
}

TEST(Text, PrintsNestedProgramsIndented) {
  ts::ProgramPtr p = nested({{"count", std::int64_t{-3}},
                             {"body", negate("f")},
                             {"branches", ts::Programs{negate(""), negate("g")}}});
  EXPECT_EQ(to_string(*p),
            "{ (a: f32[2]) -> (b)\n"
            "  b: f32[2] = nest a [\n"
            "    count=-3,\n"
            "    body=f { (a: f32[2]) -> (b)\n"
            "      b: f32[2] = neg a\n"
            "    },\n"
            "    branches=(\n"
            "      { (a: f32[2]) -> (b)\n"
            "        b: f32[2] = neg a\n"
            "      },\n"
            "      g { (a: f32[2]) -> (b)\n"
            "        b: f32[2] = neg a\n"
            "      }\n"
            "    )\n"
            "  ]\n"
            "}\n");
  expect_round_trip(*p);
}

TEST(Text, RoundTripsEveryKindOfAttribute) {
  ts::ProgramPtr p = nested({{"flag", true},
                             {"rate", 0.1},
                             {"label", std::string("a \"quoted\" \\ line\n\x01 µ")},
                             {"dtype", ts::bf16},
                             {"dims", ts::Ints{}},
                             {"groups", ts::IntLists{{0, 1}, {}, {2}}},
                             {"names", ts::Strings{"x", "two words"}},
                             {"table", ts::scalar_literal(ts::i8, std::int64_t{-128})},
                             {"body", negate("none")},
                             {"rule", ts::HookPtr{}}});
  EXPECT_NE(to_string(*p).find("label=\"a \\\"quoted\\\" \\\\ line\\n\\x01 µ\""), std::string::npos)
      << to_string(*p);
  expect_round_trip(*p);
  expect_round_trip(*nested({{"branches", ts::Programs{}}}));
  for (double rate :
       {0.0, -0.0, 1e300, 5e-324, 1.0 / 3, 123456789.0, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    ts::ProgramPtr back = ts::parse_program(to_string(*nested({{"rate", rate}})));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back->equations[0].attrs.get<double>("rate")),
              std::bit_cast<std::uint64_t>(rate));
  }
}

TEST(Text, MeshesNameOtherPlatforms) {
  const auto text = [](const ts::DeviceMesh& mesh) {
    ts::Builder b;
    const ts::Value x = b.input(ts::Type(ts::f32, {4}));
    const ts::ProgramPtr p =
        b.finish(ts::Values{ops::sharding_constraint(x, ts::MeshRef(mesh), ts::Spec::cut(0, "x"))});
    expect_round_trip(*p);
    return to_string(*p);
  };
  EXPECT_NE(text({{{"x"}, {2}}, {5, 3}}).find("mesh(\"x\"=2, (5, 3))"), std::string::npos);
  EXPECT_NE(text({{{"x"}, {2}}, {5, 3}, "cuda"}).find("mesh(\"x\"=2, (5, 3), \"cuda\")"),
            std::string::npos);
}

template <class T>
ts::Literal literal(ts::Shape shape, std::vector<T> values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes->data(), values.data(), bytes->size());
  return {ts::dtype_of<T>(), std::move(shape), bytes};
}
std::string printed(ts::Literal l) {
  ts::Builder b;
  ts::ProgramPtr p = b.finish(ts::Values{ops::constant(b, l)});
  ts::ProgramPtr back = ts::parse_program(to_string(*p));
  EXPECT_EQ(*back->equations.at(0).attrs.get<ts::Literal>("value").bytes, *l.bytes);
  expect_round_trip(*p);
  std::string text = to_string(*p);
  std::size_t from = text.find("value=") + 6;
  return text.substr(from, text.find("]\n") - from);
}

TEST(Text, LiteralsReadBackToTheSameBits) {
  float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(printed(literal<float>({}, {2.5f})), "f32[] 2.5");
  EXPECT_EQ(printed(literal<float>({2, 3}, {1, -0.0f, 0.1f, inf, -inf, 1e-45f})),
            "f32[2,3] [[1.0, -0.0, 0.1], [inf, -inf, 1e-45]]");
  EXPECT_EQ(printed(literal<float>(
                {3}, {std::bit_cast<float>(0x7fc00000u), std::bit_cast<float>(0x7fc00001u),
                      std::bit_cast<float>(0xffc00000u)})),
            "f32[3] [nan, nan:0x7fc00001, nan:0xffc00000]");
  EXPECT_EQ(printed(literal<double>({1}, {0.1})), "f64[1] [0.1]");
  EXPECT_EQ(printed(literal<std::int64_t>({2}, {INT64_MIN, INT64_MAX})),
            "i64[2] [-9223372036854775808, 9223372036854775807]");
  EXPECT_EQ(printed(literal<std::uint64_t>({}, {UINT64_MAX})), "u64[] 18446744073709551615");
  EXPECT_EQ(printed(literal<std::int8_t>({2, 0}, {})), "i8[2,0] []");
  // All values of the 16-bit floats.
  std::vector<ts::bfloat16_t> brain(65536);
  std::vector<ts::float16_t> half(65536);
  for (std::size_t i = 0; i < 65536; ++i)
    brain[i].bits = half[i].bits = static_cast<std::uint16_t>(i);
  printed(literal<ts::bfloat16_t>({65536}, brain));
  printed(literal<ts::float16_t>({256, 256}, half));
}

TEST(Text, LocationsAreComments) {
  ts::Builder b;
  ts::Value x = b.input(ts::Type(ts::f32, {}));
  b.scope = "layer 1/relu";
  b.loc = std::source_location::current();
  ts::ProgramPtr p = b.finish(ts::Values{ops::neg(x)});
  std::string text = to_string(*p, {.locations = true});
  EXPECT_NE(text.find("  # text_test.cc:"), std::string::npos) << text;
  EXPECT_NE(text.find(" in \"layer 1/relu\"\n"), std::string::npos) << text;
  EXPECT_TRUE(same_structure(*p, *ts::parse_program(text)));
}

TEST(Text, HooksPrintAndDoNotParse) {
  std::string text = to_string(*nested({{"rule", ts::HookPtr(std::make_shared<Rule>())}}));
  EXPECT_NE(text.find("rule=<my rule>"), std::string::npos) << text;
  EXPECT_EQ(parse_error(text),
            "parse_program: a rule given by user code stands here by name only\n"
            "  at: line 2, column 21\n"
            "  try: text cannot carry C++ code: build this program by calling the function");
}

TEST(Text, VariablesPastZ) {
  ts::Builder b;
  ts::Value x = b.input(ts::Type(ts::f32, {}));
  for (int i = 0; i < 800; ++i) x = ops::neg(x);
  ts::ProgramPtr p = b.finish(ts::Values{x});
  std::string text = to_string(*p);
  EXPECT_NE(text.find("  aa: f32[] = neg z\n"), std::string::npos);
  EXPECT_NE(text.find("  aaa: f32[] = neg zz\n"), std::string::npos);
  expect_round_trip(*p);
}

TEST(Text, ErrorsSayWhere) {
  EXPECT_EQ(parse_error(""),
            "parse_program: expected '{' or the name of a program, found the end of the text\n  "
            "at: line 1, column 1");
  EXPECT_EQ(parse_error("{ (a: f33[2]) -> (a) }"),
            "parse_program: expected a dtype, found 'f33'\n  at: line 1, column 7\n  try: dtypes "
            "are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64");
  EXPECT_EQ(parse_error("{ (a: f32[2]) -> (b)\n  b: f32[2] = negg a\n}"),
            "parse_program: there is no op 'negg'\n  at: line 2, column 15");
  EXPECT_EQ(parse_error("{ (a: f32[2]) -> (b)\n  b: f32[3] = neg a\n}"),
            "parse_program: the result is declared f32[3] but 'neg' gives f32[2]\n  at: line 2, "
            "column 3");
  EXPECT_EQ(parse_error("{ (a: f32[2]) -> (b)\n  b: f32[2] = neg c\n}"),
            "parse_program: variable 'c' is not defined\n  at: line 2, column 19");
  EXPECT_EQ(parse_error("{ (a: f32[2]) -> (b)\n  b: f32[2] = neg a a\n}"),
            "parse_program: 'neg' takes 1 operand, found 2\n  at: line 2, column 15");
  EXPECT_EQ(parse_error("{ (a: f32[2], a: f32[2]) -> (a) }"),
            "parse_program: variable 'a' is defined twice\n  at: line 1, column 15");
  EXPECT_EQ(parse_error("{ (a: f32[2]) -> (b)\n  b: f32[] = reduce_sum a [axis=(0)]\n}"),
            "parse_program: 'reduce_sum' has no attribute 'axis'\n  at: line 2, column 28\n  try: "
            "it has axes");
  EXPECT_EQ(
      parse_error("{ (a: f32[2]) -> (b)\n  b: f32[] = reduce_sum a\n}"),
      "parse_program: 'reduce_sum' lacks an attribute or an operand\n  at: line 2, column 14");
  EXPECT_EQ(parse_error("{ (a: f32[99999999999,99999999999]) -> (a) }"),
            "parse_program: a type has more bytes than memory can hold\n  at: line 1, column 10");
  EXPECT_EQ(
      parse_error("{ () -> ()\n  a: i8[] = constant [value=i8[] 300]\n}"),
      "parse_program: expected an element of dtype int8, found '300'\n  at: line 2, column 34");
  EXPECT_EQ(parse_error("{ (a: f32[2]) -> (a) } }"),
            "parse_program: expected the end of the text after the program, found '}'\n  at: line "
            "1, column 24");
  EXPECT_EQ(parse_error("{ (a: f32[2]) -> (a) $"),
            "parse_program: '$' means nothing here\n  at: line 1, column 22");
  const auto mesh_of = [](const std::string& sizes) {
    return "{ (a: f32[8]) -> (b)\n  b: f32[8] = shard_map a [mesh=mesh(" + sizes + ")]\n}";
  };
  // Their product is 2^64, which is no divisor of an extent.
  EXPECT_EQ(
      parse_error(mesh_of("\"i\"=4, \"j\"=4611686018427387904")),
      "parse_program: a mesh has an axis of 4611686018427387904 devices\n  at: line 2, column "
      "49\n  try: an axis has one at least, and a mesh 2147483647 at most");
  EXPECT_EQ(parse_error(mesh_of("\"i\"=0")).substr(0, 49),
            "parse_program: a mesh has an axis of 0 devices\n  ");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "{ () -> () () = nest [body=";
  nest();
  EXPECT_EQ(parse_error(deep).substr(0, 61),
            "parse_program: programs are nested more than 64 deep\n  at: li");
}
