// Outputs that a partitioned program leaves as partial results: their rows, and what is exchanged.
#include "spmd/partition_check.h"

using namespace partitioning;

namespace {

using Rows = std::vector<std::vector<double>>;

// The rows of an output, from the compiled program and from the evaluator.
Rows rows_of(const Partitioned& p, const std::vector<HostArray>& inputs) {
  const auto split = [](const HostArray& a) {
    Rows rows(static_cast<std::size_t>(a.shape[0]));
    for (std::int64_t i = 0; i < a.count(); ++i)
      rows[static_cast<std::size_t>(i * a.shape[0] / a.count())].push_back(a.number(i));
    return rows;
  };
  enough_devices();
  const Rows compiled = split(tessera::testing::run_compiled(p.program, inputs)[0]);
  EXPECT_EQ(split(evaluate(*p.program, inputs)[0]), compiled);
  return compiled;
}

// Partitions with one output, of which the axes keep partial results.
Partitioned run(Case& c, Value output, std::string_view where, std::string_view unreduced,
                Combiner combiner = Combiner::add) {
  RequestedPlacement w = c.wanted(output.rank(), where);
  w.placement.unreduced = c.mesh.placement(spec(unreduced), 1).cut();
  if (!w.placement.unreduced.empty()) w.placement.combiner = combiner;
  c.options.wanted.outputs.emplace_back(w);
  c.program = c.b.finish(Values{output});
  return c.run();
}

HostArray counted_from_1(const Type& type) {
  HostArray a(type.dtype, type.shape);
  for (std::int64_t i = 0; i < a.count(); ++i) a.data<float>()[i] = static_cast<float>(i + 1);
  return a;
}
std::vector<HostArray> counted_inputs(const Case& c) {
  std::vector<HostArray> in;
  for (Var v : c.program->inputs) in.push_back(counted_from_1(c.program->types[v]));
  return in;
}

// [1 2; 3 4] times itself: the devices have the products of a column and a row.
TEST(PartitionTerms, OfAProductAreThoseOfItsBlocks) {
  Case c({{"x"}, {2}});
  const Value a = c.input({2, 2}, ";x"), b = c.input({2, 2}, "x");
  const Partitioned p = run(c, ops::dot_general(a, b, {{1}, {0}, {}, {}}), ";", "x");
  EXPECT_EQ(collectives(p), list({}));
  EXPECT_EQ(rows_of(p, counted_inputs(c)), (Rows{{1, 2, 3, 6}, {6, 8, 12, 16}}));
}

TEST(PartitionTerms, OfASumOfProductsAreSums) {
  Case c({{"x"}, {2}});
  const Value a = c.input({2, 2}, ";x"), b = c.input({2, 2}, "x");
  const Value product = ops::dot_general(a, b, {{1}, {0}, {}, {}});
  const Partitioned p = run(c, ops::add(product, ops::neg(ops::add(product, product))), ";", "x");
  EXPECT_EQ(collectives(p), list({}));
  EXPECT_EQ(rows_of(p, counted_inputs(c)), (Rows{{-1, -2, -3, -6}, {-6, -8, -12, -16}}));
}

TEST(PartitionTerms, OfAWholeValueAreThatOfTheFirstDevice) {
  Case c({{"x"}, {2}});
  const Value a = c.input({4}, "");
  const Partitioned p = run(c, ops::neg(a), "", "x");
  EXPECT_EQ(collectives(p), list({}));
  EXPECT_EQ(rows_of(p, counted_inputs(c)), (Rows{{-1, -2, -3, -4}, {0, 0, 0, 0}}));
}

TEST(PartitionTerms, OfADividedValueAreItsParts) {
  Case c({{"x", "y"}, {2, 2}});
  const Value a = c.input({2, 2}, "x;y");
  const Partitioned p = run(c, ops::neg(a), ";", "x,y");
  EXPECT_EQ(collectives(p), list({}));
  EXPECT_EQ(rows_of(p, counted_inputs(c)),
            (Rows{{-1, 0, 0, 0}, {0, -2, 0, 0}, {0, 0, -3, 0}, {0, 0, 0, -4}}));
}

TEST(PartitionTerms, AlongFurtherAxesAreThoseOfTheFirstDevices) {
  Case c({{"x", "y"}, {2, 2}});
  const Value a = c.input({2, 2}, ";x"), b = c.input({2, 2}, "x");
  const Partitioned p = run(c, ops::dot_general(a, b, {{1}, {0}, {}, {}}), ";", "x,y");
  EXPECT_EQ(collectives(p), list({}));
  EXPECT_EQ(rows_of(p, counted_inputs(c)),
            (Rows{{1, 2, 3, 6}, {0, 0, 0, 0}, {6, 8, 12, 16}, {0, 0, 0, 0}}));
}

TEST(PartitionTerms, OfAnExtremumAreExtrema) {
  for (const bool of_max : {true, false}) {
    Case c({{"x", "y"}, {2, 2}});
    const Value a = c.input({4, 2}, "x");
    const Value extremum = of_max ? ops::reduce_max(a, {0}) : ops::reduce_min(a, {0});
    const Partitioned p = run(c, extremum, "", "x,y", of_max ? Combiner::max : Combiner::min);
    EXPECT_EQ(collectives(p), list({}));
    EXPECT_EQ(rows_of(p, counted_inputs(c)), of_max ? (Rows{{3, 4}, {3, 4}, {7, 8}, {7, 8}})
                                                    : (Rows{{1, 2}, {1, 2}, {5, 6}, {5, 6}}));
  }
}

TEST(PartitionTerms, OfAScalar) {
  Case c({{"x"}, {2}});
  const Value a = c.input({4}, "x");
  const Partitioned p = run(c, ops::reduce_sum(a, {0}), "", "x");
  EXPECT_EQ(collectives(p), list({}));
  EXPECT_EQ(rows_of(p, counted_inputs(c)), (Rows{{3}, {7}}));
}

// A matrix in any division, requested in any other with any of the left axes unreduced. The rows
// add up to the matrix.
TEST(PartitionTerms, AddUpFromAndToAnyPlacement) {
  const std::vector<std::string> divisions{";", "x", ";y", "x;y", "x,y", ";z,x", "y;z,x", "z,y;x"};
  const std::vector<std::string> unreduced{"x", "y", "z", "x,z", "y,z", "x,y,z"};
  int checked = 0;
  for (const std::string& from : divisions)
    for (const std::string& to : divisions)
      for (const std::string& along : unreduced) {
        const auto shares = [&](char axis) {
          return to.find(axis) != std::string::npos && along.find(axis) != std::string::npos;
        };
        if (shares('x') || shares('y') || shares('z')) continue;
        Case c({{"x", "y", "z"}, {2, 2, 2}});
        const Value a = c.input({8, 8}, from);
        const Partitioned p = run(c, ops::neg(a), to, along);
        const Rows rows = rows_of(p, counted_inputs(c));
        std::vector<double> sum(64);
        for (const std::vector<double>& row : rows)
          for (std::size_t i = 0; i < 64; ++i) sum[i] += row[i];
        for (std::size_t i = 0; i < 64; ++i)
          EXPECT_EQ(sum[i], -static_cast<double>(i + 1))
              << from << " to " << to << " and " << along;
        ++checked;
      }
  EXPECT_EQ(checked, 120);
}

TEST(PartitionTerms, AreNoInputs) {
  Case c({{"x"}, {2}});
  const Value a = c.input({4}, "");
  c.options.wanted.inputs[0]->placement.unreduced = c.mesh.placement(spec("x"), 1).cut();
  c.program = c.b.finish(Values{a});
  try {
    c.run();
    FAIL();
  } catch (const ShardingError& e) {
    EXPECT_STREQ(e.what(),
                 "jit: f32[4] is asked for as P() unreduced {'x'}\n"
                 "  rule: what goes into a program is whole\n"
                 "  at: input 0\n"
                 "  try: ask for it reduced");
  }
}

}  // namespace
