// Collectives of training steps with sharded parameters, and the propagation that leads to them.
#include "spmd/partition_check.h"
#include "transform/autodiff.h"

using namespace partitioning;
using propagation::f32_of;
using propagation::matmul;
using Texts = std::vector<std::string>;

// The rows of the weights do not determine the sharding of the product, so its rows get that of the
// batch before the gradient of a bias, which is sharded too, can request columns.
TEST(Propagation, ContractedRowsDoNotKeepABatchFromResults) {
  propagation::Case c;
  Value a = c.input({8, 16}, "x"), w = c.input({16, 12}, "x");
  Value z = matmul(a, w), column_sums = ops::reduce_sum(z, {0});
  c.options.outputs = {c.wanted(1, "x")};
  const Propagation p = c.run({column_sums});
  EXPECT_EQ(c.text(p, z), "P('x')");
  EXPECT_FALSE(p.why(z.var, 0, 0).value().steps.back().aggressive);
}

// Rows and columns of the result that request the same axis still disagree.
TEST(Propagation, RowsAndColumnsThatWantOneAxisDoNotAgree) {
  propagation::Case c;
  Value a = c.input({8, 16}, "x"), w = c.input({16, 12}, ";x");
  Value z = matmul(a, w);
  const Propagation p = c.run({z});
  EXPECT_EQ(c.text(p, z), "P(none, 'x')");  // the larger operand's
  EXPECT_TRUE(p.why(z.var, 1, 0).value().steps.back().aggressive);
}

TEST(Partition, CutParametersAreGatheredAndTheirGradientsScattered) {
  Case c({{"d"}, {4}});
  Builder inner("loss");
  Value x = inner.input(f32_of({256, 16})), w1 = inner.input(f32_of({16, 32})),
        b1 = inner.input(f32_of({32})), w2 = inner.input(f32_of({32, 16}));
  Value h = matmul(x, w1);
  h = ops::add(h, ops::broadcast_in_dim(b1, h.shape(), {1}));
  h = ops::max(h, ops::zeros_like(h));
  const ProgramPtr f = inner.finish(Values{matmul(h, w2)});
  const ProgramPtr g = vjp_program(*f, {false, true, true, true});
  Values in{c.input({256, 16}, "d"), c.input({16, 32}, "d"), c.input({32}, "d"),
            c.input({32, 16}, "d"), c.input({256, 16}, "d")};
  const Partitioned p = c.run(c.b.inline_program(*g, in), {"d", "d", "d", "d"});
  EXPECT_EQ(collectives(p),
            (Texts{"all_gather d 1536", "all_gather d 1536", "all_gather d 96",
                   "reduce_scatter d 1536", "reduce_scatter d 1536", "reduce_scatter d 96"}));
  expect_right(c, p);
}

// The result of attention is sharded by heads, and the product after it is wanted sharded by
// positions. The axis moves after the product: the partial sums of the heads are added where they
// are wanted.
TEST(Partition, WhatIsHandedOnMovesWhereItIsRead) {
  Case c({{"x"}, {2}});
  Value heads = c.input({2, 4, 8, 4}, ";x"), w = c.input({16, 32}, "x");
  Value rows = ops::reshape(ops::transpose(heads, {0, 2, 1, 3}), {2, 8, 16});
  Value flat = ops::dot_general(rows, w, {{2}, {0}, {}, {}});
  const Partitioned p = c.run({ops::mul(flat, flat)}, {";x"});
  EXPECT_EQ(collectives(p), Texts{"reduce_scatter x 1024"});
  expect_right(c, p);
}
