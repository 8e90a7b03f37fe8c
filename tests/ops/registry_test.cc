// Every op has every rule, or says why not.
#include "ops/registry_walk.h"

#include <regex>

namespace ts = tessera;

class RegistryTest : public testing::TestWithParam<std::string> {
 protected:
  const ts::Op& op = ts::Registry::get().at(GetParam());

  void expect_rule(const char* name, bool present) {
    bool waived = op.waived.count(name) && !op.waived.at(name).empty();
    EXPECT_TRUE(present || waived) << "lacks '" << name << "' without a reason";
    EXPECT_FALSE(present && waived) << "has '" << name << "' and waives it";
  }
};

TEST_P(RegistryTest, HasEveryRuleOrAReason) {
  EXPECT_TRUE(op.infer);
  if (!op.jvp_both) expect_rule("jvp", bool(op.jvp));
  expect_rule("transpose", bool(op.transpose));
  expect_rule("batch", bool(op.batch));
  expect_rule("sharding", bool(op.sharding));
  expect_rule("cost", bool(op.cost));
  expect_rule("evaluate", bool(op.evaluate));
  if (op.lowering == ts::Lowering::emitted) expect_rule("emit", bool(op.emit));
  expect_rule("stablehlo", !op.stablehlo.empty());
}

TEST_P(RegistryTest, IsDocumented) {
  EXPECT_GT(op.doc.size(), 3u);
  EXPECT_TRUE(op.doc.ends_with('.')) << op.doc;
  for (const ts::AttrSpec& a : op.attrs) EXPECT_FALSE(a.doc.empty()) << a.name;
  ASSERT_TRUE(op.examples);
  EXPECT_FALSE(op.examples().empty());
}

TEST_P(RegistryTest, ExamplesInfer) {
  ASSERT_TRUE(op.examples);
  for (const ts::OpExample& e : op.examples()) {
    ts::ProgramPtr p = walk::program_of(op, e);
    EXPECT_GE(p->outputs.size(), op.outputs < 0 ? 0u : static_cast<unsigned>(op.outputs));
    EXPECT_TRUE(op.inputs < 0 || e.inputs.size() == static_cast<std::size_t>(op.inputs));
    for (const auto& [name, value] : e.attrs) {
      bool declared = false;
      for (const ts::AttrSpec& s : op.attrs)
        declared =
            declared || (s.name == name && static_cast<std::size_t>(s.kind) == value.index());
      EXPECT_TRUE(declared) << "attribute '" << name << "' is not declared, or of another kind";
    }
  }
}

TEST_P(RegistryTest, ExamplesPrintAndReadBack) {
  for (const ts::OpExample& e : op.examples()) {
    ts::ProgramPtr p = walk::program_of(op, e);
    verify(*p, "the test");
    bool hook = false;
    for (const auto& [name, value] : e.attrs) {
      auto* h = std::get_if<ts::HookPtr>(&value);
      hook = hook || (h && *h);
    }
    if (hook) continue;
    std::string text = to_string(*p);
    EXPECT_TRUE(same_structure(*p, *ts::parse_program(text))) << text;
  }
}

// "([a,bc],[])->([ab,c]) {a=2} reduction={b:+}" has as many tensors as there are operands and
// results, and as many entries as dimensions.
TEST_P(RegistryTest, ShardingTextIsWellFormed) {
  if (!op.sharding) return;
  for (const ts::OpExample& e : op.examples()) {
    ts::ProgramPtr p = walk::program_of(op, e);
    std::vector<ts::Type> outputs = p->output_types();
    std::string text = to_string(op.sharding({e.inputs, outputs, e.attrs}));
    static const std::regex whole(
        R"(\(([^()]*)\)->\(([^()]*)\)( \{[^{}]*\})?( [a-z_]+=\{[^{}]*\})*)");
    std::smatch m;
    ASSERT_TRUE(std::regex_match(text, m, whole)) << text;
    auto ranks = [](const std::string& list) {
      static const std::regex tensor(R"(\[([^\[\]]*)\])");
      std::vector<std::size_t> r;
      for (std::sregex_iterator it(list.begin(), list.end(), tensor), end; it != end; ++it) {
        std::string dims = (*it)[1];
        r.push_back(dims.empty()
                        ? 0
                        : 1 + static_cast<std::size_t>(std::count(dims.begin(), dims.end(), ',')));
      }
      return r;
    };
    auto expected = [](std::span<const ts::Type> types) {
      std::vector<std::size_t> r;
      for (const ts::Type& t : types) r.push_back(t.shape.size());
      return r;
    };
    EXPECT_EQ(ranks(m[1]), expected(e.inputs)) << text;
    EXPECT_EQ(ranks(m[2]), expected(outputs)) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, RegistryTest, testing::ValuesIn(walk::op_names()), walk::test_name);
