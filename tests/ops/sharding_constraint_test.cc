// A sharding constraint is an identity whose attributes follow its operand.
#include "op_check.h"

#include "../specs.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

const MeshRef kMesh = first_devices({{"x", "y"}, {2, 3}});

Attrs asking(std::string_view where, Ints open = {}) {
  return {{"mesh", kMesh}, {"spec", spec(where)}, {"open", std::move(open)}};
}

TEST(ShardingConstraint, IsTheValue) {
  HostArray x = host<int>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<int>(run_op("sharding_constraint", {x}, asking("x;y"))), values<int>(x));
  check_transpose("sharding_constraint", {Type(f32, {2, 3})}, {true}, asking("x;y"));
  EXPECT_EQ(factor_rule("sharding_constraint", {Type(f32, {8, 16})}, asking("x")),
            "([a,b])->([a,b]) {a=8,b=16}");
}

TEST(ShardingConstraint, SaysWhatItAsks) {
  const Op& op = Registry::get().at("sharding_constraint");
  const Constraint c = op.constrains(asking(";y,x", {0}));
  EXPECT_EQ(c.mesh, kMesh);
  EXPECT_EQ(c.spec, spec(";y,x"));
  EXPECT_EQ(c.open, Ints{0});
}

TEST(ShardingConstraint, LeavesTheMappedDimensionOpen) {
  auto batched = [](std::string_view where, Ints open, int dim) {
    const Op& op = Registry::get().at("sharding_constraint");
    Builder b;
    Value x = b.input(Type(f32, {4, 4, 4}));
    const Attrs attrs = asking(where, std::move(open));
    const std::vector<Value> in{x};
    const std::vector<int> dims{dim};
    BatchResult r = op.batch({b, op, attrs, in, dims, 4, ""});
    EXPECT_EQ(r.dims, dims);
    return op.constrains(b.so_far().equations.back().attrs);
  };
  Constraint front = batched("x;y", {}, 0);
  EXPECT_EQ(front.spec, spec(";x;y"));
  EXPECT_EQ(front.open, Ints{0});
  Constraint middle = batched("x;y", {0, 1}, 1);
  EXPECT_EQ(middle.spec, spec("x;;y"));
  EXPECT_EQ(middle.open, (Ints{0, 1, 2}));
  Constraint last = batched("x", {1}, 2);
  EXPECT_EQ(last.spec, spec("x"));
  EXPECT_EQ(last.open, (Ints{1, 2}));
}

TEST(ShardingConstraint, RefusesWhatDoesNotFit) {
  auto error = [](std::string_view where) {
    return infer_error<ShardingError>("sharding_constraint", {Type(f32, {4, 4})}, asking(where));
  };
  EXPECT_EQ(error("x;;y"),
            "sharding_constraint: P('x', none, 'y') has 3 entries for the value f32[4,4]\n"
            "  rule: a spec has at most one entry a dimension\n"
            "  try: shorten the spec");
  EXPECT_EQ(error("z"),
            "sharding_constraint: P('z') names 'z', which is no axis of the mesh\n"
            "  rule: the axes are 'x', 'y'\n"
            "  try: check the spelling");
  EXPECT_EQ(error("x;x"),
            "sharding_constraint: P('x', 'x') uses axis 'x' twice\n"
            "  rule: an axis cuts one dimension\n"
            "  try: leave one of them out");
  EXPECT_THROW(
      infer_error<ShardingError>("sharding_constraint", {Type(f32, {4})}, asking("x", {1})),
      InternalError);
}

}  // namespace
