// shard_map over some axes of a mesh, inside programs that are partitioned over the others: values
// agree with the evaluator, and the collectives of both kinds are as expected.
#include "spmd/manual_region.h"
#include "spmd/partition_check.h"
#include "spmd/reshard/reshard.h"
#include "transform/autodiff.h"

using namespace partitioning;
using propagation::matmul;

namespace {

const MeshShape kGrid{{"data", "model"}, {2, 2}};
const MeshShape kBlock{{"data", "model", "pipe"}, {2, 2, 2}};

Value psum(Value x, const Strings& axes) { return ops::psum_invariant(ops::pvary(x, axes), axes); }

}  // namespace

TEST(ManualAxes, ASumOfParts) {
  Case c(kGrid);
  const Value x = c.input(Shape{4, 8}, "data;model");
  const Partitioned p =
      c.run(region(kGrid, {"data"}, {"data"}, {""}, {x},
                   [](Builder&, const Values& in) { return Values{psum(in[0], {"data"})}; }),
            {"?"});
  EXPECT_EQ(collectives(p), list({"all_reduce data 32"}));
  EXPECT_EQ(c.mesh.to_string(p.outputs[0]), "P(none, 'model')");
  expect_right(c, p);
}

// The manual axis shards a dimension first, and the automatic one shards the block.
TEST(ManualAxes, BothCutOneDimension) {
  Case c(kGrid);
  const Value x = c.input(Shape{8}, "data,model");
  const Partitioned p =
      c.run(region(kGrid, {"data"}, {"data"}, {"data"}, {x},
                   [](Builder& b, const Values& in) {
                     const Value at = ops::pvary(ops::axis_index(b, {"data"}, 2), {"data"});
                     return Values{ops::add(
                         in[0], ops::broadcast_in_dim(ops::convert(at, f32), in[0].shape(), {}))};
                   }),
            {"?"});
  EXPECT_EQ(collectives(p), list({}));
  EXPECT_EQ(c.mesh.to_string(p.inputs[0]), "P(('data', 'model'))");
  EXPECT_EQ(c.mesh.to_string(p.outputs[0]), "P(('data', 'model'))");
  expect_right(c, p);
  // In the other order the blocks differ, and operands are resharded to them.
  Case other(kGrid);
  const Value y = other.input(Shape{8}, "model,data");
  const Partitioned q =
      other.run(region(kGrid, {"data"}, {"data"}, {"data"}, {y},
                       [](Builder&, const Values& in) { return Values{ops::neg(in[0])}; }),
                {"data,model"});
  EXPECT_EQ(q.collectives.size(), 1u);
  expect_right(other, q);
}

// Weights are sharded over "model", so the product is a partial sum over it, and so is the sum of
// its elements.
TEST(ManualAxes, TensorParallelInside) {
  Case c(kGrid);
  const Value x = c.input(Shape{4, 8}, "data"), w = c.input(Shape{8, 16}, ";model"),
              v = c.input(Shape{16, 8}, "model");
  const Partitioned p = c.run(region(kGrid, {"data"}, {"data", "", ""}, {"data", ""}, {x, w, v},
                                     [](Builder&, const Values& in) {
                                       const Value h = matmul(in[0], ops::pvary(in[1], {"data"}));
                                       const Value y = matmul(h, ops::pvary(in[2], {"data"}));
                                       return Values{y, psum(ops::reduce_sum(y, {0, 1}), {"data"})};
                                     }),
                              {"data", ""});
  EXPECT_EQ(collectives(p), list({"all_reduce data model 6", "all_reduce model 64"}));
  expect_right(c, p);
}

// A sum over a manual axis of a partial sum over another axis is one collective, unless something
// reads the sum over the manual axis alone.
TEST(ManualAxes, ASumOfPartialSumsIsReducedAtOnce) {
  for (const bool twice : {false, true}) {
    Case c(kGrid);
    const Value x = c.input(Shape{4, 8}, "data;model");
    const Value total =
        region(kGrid, {"data"}, {"data"}, {""}, {x}, [](Builder&, const Values& in) {
          return Values{psum(ops::reduce_sum(in[0], {1}), {"data"})};
        })[0];
    const Value more = ops::reduce_sum(ops::mul(x, x), {1});
    Values out{ops::mul(total, total)};
    if (twice) out.push_back(ops::add(ops::reduce_sum(more, {0}), ops::reduce_sum(total, {0})));
    const Partitioned p = c.run(out, std::vector<std::string>(out.size(), ""));
    EXPECT_EQ(collectives(p), twice ? list({"all_reduce data model 12", "all_reduce data model 6"})
                                    : list({"all_reduce data model 12"}));
    expect_right(c, p);
  }
}

// A collective that exchanges along one dimension leaves the others to the automatic axes.
TEST(ManualAxes, CollectivesOfParts) {
  const auto run = [](const char* where, const std::function<Values(Builder&, const Values&)>& f,
                      const std::string& out) {
    Case c(kGrid);
    const Value x = c.input(Shape{8, 8}, where);
    const Partitioned p = c.run(region(kGrid, {"data"}, {"data"}, {out}, {x}, f), {"?"});
    expect_right(c, p);
    std::vector<std::string> all = collectives(p);
    all.push_back(c.mesh.to_string(p.outputs[0]));
    return all;
  };
  const Strings data{"data"};
  for (bool tiled : {false, true}) {
    const auto gather = [&](Builder&, const Values& in) {
      return Values{ops::all_gather_invariant(in[0], data, 2, 0, tiled)};
    };
    EXPECT_EQ(run("data;model", gather, ""),
              list({"all_gather data 64", tiled ? "P(none, 'model')" : "P(none, none, 'model')"}));
    // Along the gathered dimension, blocks of shards are not a shard of the whole.
    const auto along = run("data,model", gather, "");
    EXPECT_EQ(along, tiled ? list({"all_gather data 128", "all_gather model 64", "P()"})
                           : list({"all_gather data 64", "P(none, 'model')"}));
  }
  EXPECT_EQ(run(
                "data;model",
                [&](Builder&, const Values& in) {
                  return Values{ops::psum_scatter(in[0], data, 2, 0, true)};
                },
                "data"),
            list({"reduce_scatter data 32", "P('data', 'model')"}));
  EXPECT_EQ(run(
                "data;model",
                [&](Builder&, const Values& in) {
                  return Values{ops::ppermute(in[0], data, 2, {{0, 1}, {1, 0}})};
                },
                "data"),
            list({"permute data 64", "P('data', 'model')"}));
  EXPECT_EQ(run(
                "data,model",
                [&](Builder&, const Values& in) {
                  return Values{ops::all_to_all(in[0], data, 2, 1, 0, true)};
                },
                ";data")
                .size(),
            3u);
}

// An inner shard_map uses axes that the outer one leaves.
TEST(ManualAxes, Nested) {
  Case c(kBlock);
  const Value x = c.input(Shape{4, 8, 4}, "data;model;pipe");
  const Partitioned p =
      c.run(region(kBlock, {"data"}, {"data"}, {"data", ""}, {x},
                   [](Builder&, const Values& in) {
                     const Value y = region(kBlock, {"model"}, {";model"}, {";model"}, {in[0]},
                                            [](Builder&, const Values& inner) {
                                              EXPECT_EQ(to_string(inner[0].type()),
                                                        "f32[2,4,4]{varying: data, model}");
                                              const Value s = psum(inner[0], {"data", "model"});
                                              return Values{ops::mul(inner[0], s)};
                                            })[0];
                     return Values{y, psum(ops::reduce_sum(y, {0}), {"data"})};
                   }),
            {"?", "?"});
  EXPECT_EQ(collectives(p), list({"all_reduce data 32", "all_reduce data model 96"}));
  EXPECT_EQ(c.mesh.to_string(p.outputs[0]), "P('data', 'model', 'pipe')");
  EXPECT_EQ(c.mesh.to_string(p.outputs[1]), "P('model', 'pipe')");
  expect_right(c, p);
}

// A carry varies along the outer axis from the loop's first iteration, inside the inner region.
TEST(ManualAxes, NestedInALoop) {
  Case c(kGrid);
  const Value x = c.input(Shape{4, 8}, "data");
  const Partitioned p = c.run(
      region(kGrid, {"data"}, {"data"}, {"data"}, {x},
             [](Builder& b, const Values& in) {
               Builder turn("turn");
               Type block = in[0].type(), start = block;
               start.varying = {};
               const Value rows = turn.input(block), carry = turn.input(start);
               const Value doubled = region(
                   kGrid, {"model"}, {";model"}, {";model"}, {carry},
                   [](Builder&, const Values& v) { return Values{ops::add(v[0], v[0])}; })[0];
               const ProgramPtr body = turn.finish(Values{ops::add(rows, doubled)});
               return ops::scan(body, Values{in[0]}, Values{ops::zeros(b, Type(f32, block.shape))},
                                {}, 3, false, b);
             }),
      {"data;model"});
  EXPECT_EQ(collectives(p), list({}));
  expect_right(c, p);
}

// Explicit collectives are counted as often as they run.
TEST(ManualAxes, InLoopsAreCounted) {
  for (const Strings& manual : {Strings{"data"}, Strings{"data", "model"}}) {
    Case c(kGrid);
    const Value x = c.input(Shape{4, 8}, "data");
    const Partitioned p = c.run(region(kGrid, manual, {"data"}, {"data"}, {x},
                                       [](Builder& b, const Values& in) {
                                         Builder turn("turn");
                                         const Value carry = turn.input(in[0].type());
                                         const ProgramPtr body = turn.finish(Values{ops::sub(
                                             carry, ops::pvary(psum(carry, {"data"}), {"data"}))});
                                         return ops::scan(body, {}, Values{in[0]}, {}, 3, false, b);
                                       }),
                                {"?"});
    EXPECT_EQ(collectives(p), list({"all_reduce data 64 * 3"}));
    expect_right(c, p);
  }
}

TEST(ManualAxes, ReadBackFromText) {
  Case c(kGrid);
  const Value x = c.input(Shape{4}, "");
  c.run(region(kGrid, {"model"}, {"model"}, {"model"}, {x},
               [](Builder&, const Values& in) { return in; }),
        {"?"});
  const std::string text = to_string(*c.program);
  EXPECT_NE(text.find("manual=(\"model\")"), std::string::npos) << text;
  EXPECT_TRUE(same_structure(*c.program, *parse_program(text)));
}

// Slices whose extents no axis divides stay sharded inside a region and its nested programs; the
// region's own axes shard nothing there.
TEST(ManualAxes, ARollSendsEachBlockOnce) {
  const MeshShape mesh{{"data", "x"}, {2, 4}};
  const auto rolled = [](Value x) {
    return ops::concatenate(
        Values{ops::slice(x, {0, 13}, {2, 16}, {1, 1}), ops::slice(x, {0, 0}, {2, 13}, {1, 1})}, 1);
  };
  const auto run = [&](const std::function<Values(Builder&, const Values&)>& f) {
    Case c(mesh);
    const Value x = c.input(Shape{4, 16}, "data;x");
    const Partitioned p = c.run(region(mesh, {"data"}, {"data"}, {"data"}, {x}, f), {"data;x"});
    expect_right(c, p);
    return collectives(p);
  };
  EXPECT_EQ(run([&](Builder&, const Values& in) { return Values{rolled(in[0])}; }),
            list({"permute x 24", "permute x 24"}));
  EXPECT_EQ(run([&](Builder& b, const Values& in) {
              Builder turn("turn");
              const Value carry = turn.input(in[0].type());
              return ops::scan(turn.finish(Values{rolled(carry)}), {}, Values{in[0]}, {}, 3, false,
                               b);
            }),
            list({"permute x 24 * 3", "permute x 24 * 3"}));
  Case c(mesh);
  const Value x = c.input(Shape{2, 16}, ";data");
  const Partitioned p =
      c.run(region(mesh, {"x"}, {""}, {""}, {x},
                   [&](Builder&, const Values& in) { return Values{rolled(in[0])}; }),
            {";data"});
  EXPECT_EQ(collectives(p), list({"permute data 24", "permute data 24"}));
  expect_right(c, p);
}

// Gradients need only the partial sums.
TEST(ManualAxes, Gradients) {
  Case c(kGrid);
  const Value x = c.input(Shape{4, 8}, "data"), w = c.input(Shape{8, 4}, ";model");
  c.program = c.b.finish(
      region(kGrid, {"data"}, {"data", ""}, {""}, {x, w}, [](Builder&, const Values& in) {
        const Value y = matmul(in[0], ops::pvary(in[1], {"data"}));
        return Values{psum(ops::reduce_sum(ops::mul(y, y), {0, 1}), {"data"})};
      }));
  c.program = vjp_program(*c.program, {true, true});
  c.options.wanted.inputs.emplace_back(c.wanted(0, ""));
  c.options.wanted.outputs = {c.wanted(0, ""), c.wanted(2, "data"), c.wanted(2, ";model")};
  const Partitioned p = c.run();
  EXPECT_EQ(collectives(p),
            list({"all_reduce data 64", "all_reduce data model 6", "all_reduce model 64"}));
  expect_right(c, p);
}

// Devices along a manual axis hold different values even if their placements are equal. A value
// that would be sharded along a free axis for a while, to send less, is not sharded along a manual
// one.
TEST(ManualAxes, NothingMovesAlongThem) {
  const AtomMesh mesh(kBlock, AtomMesh::Parts::axes);
  const Type whole(f32, {16});
  Placement from = Placement::replicated(1), to = mesh.placement(spec("data"), 1);
  from.unreduced = AtomSet(mesh.atoms_of(0)) | AtomSet(mesh.atoms_of(1));
  const AtomSet pipe(mesh.atoms_of(2));
  const auto is_along = [&](const Reshard& plan) {
    return std::any_of(plan.moves.begin(), plan.moves.end(),
                       [&](const Move& m) { return m.atoms.intersects(pipe); });
  };
  const Reshard free = plan_reshard(mesh, whole, from, to),
                barred = plan_reshard(mesh, whole, from, to, {}, {.barred = pipe});
  EXPECT_TRUE(is_along(free)) << to_string(mesh, free);
  EXPECT_FALSE(is_along(barred)) << to_string(mesh, barred);
  EXPECT_LT(free.bytes, barred.bytes);
}
