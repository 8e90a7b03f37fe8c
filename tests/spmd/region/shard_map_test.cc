// shard_map: blocks by spec, and its derivatives in both regimes, which agree with those of the
// same function on global arrays.
#include "spmd/region/shard_map.h"
#include "specs.h"
#include "spmd/spmd_check.h"
#include "transform/autodiff.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::testing;

namespace {

using Floats = std::vector<float>;

struct Map {
  MeshShape mesh;
  Strings in, out;
  bool typed = false;
};

ProgramPtr body_of(const Map& m, const std::vector<Type>& wholes, const Body& f) {
  std::vector<Type> blocks;
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    const Spec cut = spec(m.in[i]);
    Type t(wholes[i].dtype, block_shape(wholes[i].shape, cut, m.mesh));
    if (m.typed) t.varying = cut.axes();
    blocks.push_back(t);
  }
  return program_of(blocks, f);
}

/// A program of one shard_map.
ProgramPtr map_of(const Map& m, const std::vector<Type>& wholes, const Body& f) {
  ProgramPtr body = body_of(m, wholes, f);
  return program_of(wholes, [&](Builder& b, const Values& in) {
    return ops::shard_map(b, body, in, first_devices(m.mesh), specs(m.in), specs(m.out), m.typed);
  });
}

Type type_of(const HostArray& a) { return {a.dtype, a.shape}; }
const Equation& only_map(const Program& p) {
  for (const Equation& e : p.equations)
    if (e.op->name == "shard_map") return e;
  throw InternalError("no shard_map");
}
int count(const Program& p, const std::string& op) {
  int n = 0;
  for (const Equation& e : p.equations) n += e.op->name == op;
  return n;
}

Value sum_all(Value x) {
  Ints axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  return ops::reduce_sum(x, axes);
}
/// The sum over the mesh, by the psum of the regime.
Value total(Value x, const Strings& axes, std::int64_t n, bool typed) {
  return typed ? ops::psum_invariant(ops::pvary(x, axes), axes) : ops::psum(x, axes, n);
}

const MeshShape kLine{{"i"}, {4}};
const MeshShape kGrid{{"x", "y"}, {2, 3}};

}  // namespace

TEST(Spec, IsOneStructureHoweverItIsMade) {
  EXPECT_EQ(spec("i;;"), Spec::cut(0, "i"));
  EXPECT_EQ(&spec(";i").dims(), &Spec::cut(1, "i").dims());
  EXPECT_EQ(spec(";;"), Spec());
  EXPECT_FALSE(spec("x,y") == spec("y,x"));
  EXPECT_EQ(to_string(Spec()), "P()");
  EXPECT_EQ(to_string(spec("x,y;;z")), "P(('x', 'y'), none, 'z')");
}

TEST(Spec, AndMeshesReadBackFromPrograms) {
  const MeshRef mesh(DeviceMesh{kGrid, {5, 4, 3, 2, 1, 0}});
  Builder b("map");
  Value x = b.input(Type(f32, {6, 4, 2}));
  ProgramPtr body = program_of({Type(f32, {1, 4, 2})}, [](Builder&, const Values& v) { return v; });
  ProgramPtr p =
      b.finish(ops::shard_map(b, body, Values{x}, mesh, {spec("y,x")}, {spec("y,x")}, false));
  const std::string text = to_string(*p);
  EXPECT_NE(text.find("mesh=mesh(\"x\"=2, \"y\"=3, (5, 4, 3, 2, 1, 0))"), std::string::npos)
      << text;
  EXPECT_NE(text.find("in_specs=(P((\"y\", \"x\")))"), std::string::npos) << text;
  const ProgramPtr read = parse_program(text);
  EXPECT_TRUE(same_structure(*p, *read));
  EXPECT_EQ(only_map(*read).attrs.get<MeshRef>("mesh"), mesh);
}

TEST(ShardMap, CutsAndAssembles) {
  HostArray x = integers(Type(f32, {6, 12}), 1);
  for (std::string spec : {"", "x", "y", ";x", ";y", "x;y", "y;x", "x,y", "y,x", ";x,y", ";y,x"})
    for (bool typed : {false, true}) {
      ProgramPtr p =
          map_of({kGrid, {spec}, {spec}, typed}, {type_of(x)},
                 [](Builder&, const Values& in) { return Values{ops::add(in[0], in[0])}; });
      HostArray y = evaluate(*p, std::vector{x})[0];
      ASSERT_EQ(y.shape, x.shape);
      for (std::int64_t i = 0; i < x.count(); ++i) EXPECT_EQ(y.number(i), 2 * x.number(i)) << spec;
    }
  // Device (x, y) of the grid holds block x * 3 + y of "x,y" and y * 2 + x of "y,x".
  auto numbers = [](const std::string& spec) {
    ProgramPtr p = map_of({kGrid, {}, {spec}}, {}, [](Builder& b, const Values&) {
      return Values{ops::reshape(ops::axis_index(b, {"x", "y"}, 6), Shape{1})};
    });
    return values<std::int32_t>(evaluate(*p, {})[0]);
  };
  EXPECT_EQ(numbers("x,y"), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(numbers("y,x"), (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
}

// loss(w, x) = sum over devices of sum(w * x * x): the gradients of the map are those of the whole
// function.
TEST(ShardMap, GradientsAreThoseOfTheWhole) {
  HostArray w = floats({3}, {1, 2, 3}), x = integers(Type(f32, {8, 3}), 1), one = floats({}, {1});
  auto loss = [](Value weights, Value rows) {
    return sum_all(
        ops::mul(ops::broadcast_in_dim(weights, rows.shape(), {1}), ops::mul(rows, rows)));
  };
  ProgramPtr whole = program_of({type_of(w), type_of(x)}, [&](Builder&, const Values& in) {
    return Values{loss(in[0], in[1])};
  });
  std::vector<HostArray> want =
      evaluate(*vjp_program(*whole, {true, true}), std::vector{w, x, one});
  for (bool typed : {false, true}) {
    ProgramPtr p = map_of({kLine, {"", "i"}, {""}, typed}, {type_of(w), type_of(x)},
                          [&](Builder&, const Values& in) {
                            return Values{total(loss(in[0], in[1]), {"i"}, 4, typed)};
                          });
    expect_same(evaluate(*vjp_program(*p, {true, true}), std::vector{w, x, one}), want,
                typed ? "typed" : "untyped");
  }
}

// Results that stay on their devices, over a grid, through jvp, linearisation and vjp.
TEST(ShardMap, DerivativesOverAGrid) {
  HostArray a = integers(Type(f32, {4, 6}), 1), b = integers(Type(f32, {6}), 2),
            s = floats({}, {3});
  HostArray ct = integers(Type(f32, {4, 6}), 3), ct2 = floats({}, {2});
  HostArray ta = integers(Type(f32, {4, 6}), 4), tb = integers(Type(f32, {6}), 5),
            ts_ = floats({}, {-1});
  auto f = [](Value m, Value v, Value k) {
    Value wide = ops::broadcast_in_dim(v, m.shape(), {1});
    Value y = ops::mul(ops::mul(m, wide), ops::broadcast_in_dim(ops::mul(k, k), m.shape(), {}));
    return std::pair(y, sum_all(ops::mul(y, m)));
  };
  std::vector<Type> types{type_of(a), type_of(b), type_of(s)};
  ProgramPtr whole = program_of(types, [&](Builder&, const Values& in) {
    auto [y, t] = f(in[0], in[1], in[2]);
    return Values{y, t};
  });
  std::vector<bool> all{true, true, true};
  std::vector<HostArray> want = evaluate(*vjp_program(*whole, all), std::vector{a, b, s, ct, ct2});
  std::vector<HostArray> want_jvp =
      evaluate(*jvp_program(*whole, all).program, std::vector{a, b, s, ta, tb, ts_});
  for (bool typed : {false, true}) {
    ProgramPtr p = map_of({kGrid, {"x;y", "y", ""}, {"x;y", ""}, typed}, types,
                          [&](Builder&, const Values& in) {
                            auto [y, t] = f(in[0], in[1], in[2]);
                            return Values{y, total(t, {"x", "y"}, 6, typed)};
                          });
    std::string what = typed ? "typed" : "untyped";
    std::vector<HostArray> got = evaluate(*vjp_program(*p, all), std::vector{a, b, s, ct, ct2});
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      for (std::int64_t k = 0; k < got[i].count(); ++k)
        // A third of an integer, three times: each is rounded by at most half a unit in 24 bits.
        EXPECT_NEAR(got[i].number(k), want[i].number(k), std::abs(want[i].number(k)) * 4e-7)
            << what << " " << i;
    expect_same(evaluate(*jvp_program(*p, all).program, std::vector{a, b, s, ta, tb, ts_}),
                want_jvp, what + " jvp");
  }
}

// Specs from replicated to sharded and back, with no collective in the body.
TEST(ShardMap, FanOutTransposesToASum) {
  HostArray x = integers(Type(f32, {4}), 1), ct = integers(Type(f32, {16}), 2);
  for (bool typed : {false, true}) {
    ProgramPtr p = map_of({kLine, {""}, {"i"}, typed}, {type_of(x)},
                          [](Builder&, const Values& in) { return Values{in[0]}; });
    HostArray back = evaluate(*vjp_program(*p, {true}), std::vector{x, ct})[1];
    for (std::int64_t k = 0; k < 4; ++k) {
      double sum = 0;
      for (std::int64_t d = 0; d < 4; ++d) sum += ct.number(4 * d + k);
      EXPECT_EQ(back.number(k), sum);
    }
  }
}

// In a typed region, psum and pvary are each other's transpose: the gradient of a psum'ed loss
// moves nothing.
TEST(ShardMap, TypedPsumTransposesToNothing) {
  ProgramPtr p =
      map_of({kLine, {"i"}, {""}, true}, {Type(f32, {8})}, [](Builder&, const Values& in) {
        return Values{ops::psum_invariant(sum_all(in[0]), {"i"})};
      });
  ProgramPtr back = transpose_program(*p, {true}, {true});
  const Program& body = *only_map(*back).attrs.program("body");
  EXPECT_EQ(count(body, "psum_invariant") + count(body, "psum"), 0);
  EXPECT_EQ(count(body, "pvary"), 1);
}

// A gradient taken inside the body is per device in an untyped region, and summed for values that
// the devices share in a typed one.
TEST(ShardMap, GradientsInsideTheBody) {
  HostArray w = floats({}, {5}), x = floats({4}, {0, 1, 2, 3});
  auto pmean_of_grad = [&](bool typed) {
    Map m{kLine, {"", "i"}, {""}, typed};
    ProgramPtr local = body_of(m, {type_of(w), type_of(x)}, [](Builder&, const Values& in) {
      return Values{ops::mul(in[0], ops::reshape(in[1], Shape{}))};
    });
    ProgramPtr vjp = vjp_program(*local, {true, false});
    ProgramPtr p = map_of(m, {type_of(w), type_of(x)}, [&](Builder& b, const Values& in) {
      Value one = ops::scalar(b, f32, 1);
      if (typed) one = ops::pvary(one, {"i"});
      Value grad = b.inline_program(*vjp, Values{in[0], in[1], one})[1];
      return Values{ops::div(total(grad, {"i"}, 4, typed), ops::scalar(b, f32, 4))};
    });
    return values<float>(evaluate(*p, std::vector{w, x})[0])[0];
  };
  EXPECT_EQ(pmean_of_grad(false), 1.5f);
  EXPECT_EQ(pmean_of_grad(true), 6.0f);

  // The gradient of psum(x), taken inside, is n in an untyped region and 1 in a typed one.
  auto grad_of_psum = [&](bool typed) {
    Map m{kLine, {"i"}, {"i"}, typed};
    ProgramPtr local = body_of(m, {type_of(x)}, [&](Builder&, const Values& in) {
      return Values{total(ops::reshape(in[0], Shape{}), {"i"}, 4, typed)};
    });
    ProgramPtr vjp = vjp_program(*local, {true});
    ProgramPtr p = map_of(m, {type_of(x)}, [&](Builder& b, const Values& in) {
      return Values{b.inline_program(*vjp, Values{in[0], ops::scalar(b, f32, 1)})[1]};
    });
    return values<float>(evaluate(*p, std::vector{x})[0]);
  };
  EXPECT_EQ(grad_of_psum(false), (Floats{4, 4, 4, 4}));
  EXPECT_EQ(grad_of_psum(true), (Floats{1, 1, 1, 1}));
}

// An SGD step on four devices is the step on the whole batch.
TEST(ShardMap, DataParallelStep) {
  HostArray w = floats({2}, {1, -2}), x = integers(Type(f32, {8, 2}), 1);
  auto loss = [](Value weights, Value rows) {
    Value y =
        ops::reduce_sum(ops::mul(ops::broadcast_in_dim(weights, rows.shape(), {1}), rows), {1});
    return sum_all(ops::mul(y, y));
  };
  ProgramPtr whole = program_of({type_of(w), type_of(x)}, [&](Builder&, const Values& in) {
    return Values{loss(in[0], in[1])};
  });
  HostArray want =
      evaluate(*vjp_program(*whole, {true, false}), std::vector{w, x, floats({}, {1})})[1];
  Map m{kLine, {"", "i"}, {""}};
  ProgramPtr local = body_of(m, {type_of(w), type_of(x)}, [&](Builder&, const Values& in) {
    return Values{loss(in[0], in[1])};
  });
  ProgramPtr vjp = vjp_program(*local, {true, false});
  ProgramPtr p = map_of(m, {type_of(w), type_of(x)}, [&](Builder& b, const Values& in) {
    return Values{ops::psum(b.inline_program(*vjp, Values{in[0], in[1], ops::scalar(b, f32, 1)})[1],
                            {"i"}, 4)};
  });
  expect_same(evaluate(*p, std::vector{w, x})[0], want, "gradient");
}

// Residuals that are inputs are not stored again, uniform values are stored once, and scalars that
// differ as one element per device.
TEST(ShardMap, Residuals) {
  HostArray w = floats({3}, {1, 2, 3}), x = integers(Type(f32, {8, 3}), 1);
  ProgramPtr p =
      map_of({kLine, {"", "i"}, {"i"}}, {type_of(w), type_of(x)}, [](Builder&, const Values& in) {
        Value shared = ops::mul(in[0], in[0]);  // the same on all devices
        Value cube = ops::mul(shared, in[0]);
        Value own = sum_all(ops::mul(in[1], in[1]));  // a scalar that differs
        Value square = ops::mul(own, own);
        Value k = ops::mul(ops::broadcast_in_dim(cube, in[1].shape(), {1}),
                           ops::broadcast_in_dim(square, in[1].shape(), {}));
        return Values{ops::mul(k, in[1])};
      });
  Linearized lin = linearize_program(*p, {true, true});
  const Equation& forward = only_map(*lin.known);
  const auto& left = forward.attrs.get<Specs>("out_specs");
  const Program& body = *forward.attrs.program("body");
  int scalars = 0, once = 0;
  for (std::size_t i = 1; i < left.size(); ++i) {
    const Type& t = body.type(body.outputs[i]);
    EXPECT_TRUE(std::find(body.inputs.begin(), body.inputs.end(), body.outputs[i]) ==
                body.inputs.end());
    if (t.shape == Shape{1}) {
      EXPECT_EQ(left[i], Spec::cut(0, "i"));
      ++scalars;
    }
    if (t.shape == Shape{3}) {
      EXPECT_EQ(left[i], Spec());
      ++once;
    }
  }
  EXPECT_EQ(scalars, 1);
  EXPECT_EQ(once, 1);
}

TEST(ShardMap, Batching) {
  HostArray w = integers(Type(f32, {5, 3}), 1), x = integers(Type(f32, {8, 5, 3}), 2);
  for (bool typed : {false, true}) {
    ProgramPtr p = map_of({kLine, {"", "i"}, {"i", ""}, typed}, {Type(f32, {3}), Type(f32, {8, 3})},
                          [&](Builder&, const Values& in) {
                            Value y =
                                ops::mul(in[1], ops::broadcast_in_dim(in[0], in[1].shape(), {1}));
                            return Values{y, total(sum_all(y), {"i"}, 4, typed)};
                          });
    ProgramPtr batched = batch_program(*p, {0, 1}, 5, "").program;
    std::vector<HostArray> got = evaluate(*batched, std::vector{w, x});
    HostArray turned = run({x}, [](Builder&, const Values& in) {
      return Values{ops::transpose(in[0], {1, 0, 2})};
    })[0];
    std::vector<HostArray> y, s;
    for (std::int64_t k = 0; k < 5; ++k) {
      std::vector<HostArray> one = evaluate(*p, std::vector{row_of(w, k), row_of(turned, k)});
      y.push_back(one[0]);
      s.push_back(one[1]);
    }
    expect_same(got, {stack_of(y), stack_of(s)}, "batched");
  }
}

// A name of vmap is visible in the body; if the mesh has it too, it is the mesh's there.
TEST(ShardMap, NamesOfVmap) {
  HostArray x = integers(Type(f32, {2, 4}), 1);
  auto sums = [&](const std::string& axis, std::int64_t n) {
    ProgramPtr p = map_of({kLine, {"i"}, {"i"}}, {Type(f32, {4})}, [&](Builder&, const Values& in) {
      return Values{ops::psum(in[0], {axis}, n)};
    });
    return values<float>(
        evaluate(*batch_program(*p, {0}, 2, axis, {true}).program, std::vector{x})[0]);
  };
  Floats v = values<float>(x);
  Floats over_vmap, over_mesh;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 4; ++c) {
      over_vmap.push_back(v[c] + v[4 + c]);
      over_mesh.push_back(v[4 * r] + v[4 * r + 1] + v[4 * r + 2] + v[4 * r + 3]);
    }
  EXPECT_EQ(sums("rows", 2), over_vmap);
  EXPECT_EQ(sums("i", 4), over_mesh);
}

TEST(ShardMap, Errors) {
  auto text = [](Map m, Type t, const Body& f) {
    return error_of<ShardingError>([&] { map_of(m, {t}, f); });
  };
  Body same = [](Builder&, const Values& in) { return Values{in[0]}; };
  EXPECT_EQ(text({kLine, {"i"}, {""}, true}, Type(f32, {8}), same),
            "shard_map: P() says that the result is the same on all devices along 'i', but it "
            "is an argument, f32[2]{varying: i}\n"
            "  rule: a spec names every axis over which the value varies\n"
            "  at: output 0\n"
            "  try: psum, pmean or an invariant all_gather over 'i', or name the axis in the spec");
  auto raw = [](Strings in, Type t) {
    Builder b;
    Value x = b.input(t);
    return error_of<ShardingError>([&] {
      ops::shard_map(b, program_of({t}, [](Builder&, const Values& v) { return v; }), Values{x},
                     first_devices({{"i"}, {4}}), specs(in), {Spec()}, false);
    });
  };
  EXPECT_EQ(raw({"i"}, Type(f32, {6})),
            "shard_map: f32[6] is cut by P('i'): dimension 0 has 6 elements, for 4 devices\n"
            "  rule: the devices divide the dimension: 6 % 4 = 2\n"
            "  at: input 0\n"
            "  try: pad the dimension to 8 elements, or cut another one");
  EXPECT_EQ(raw({"i"}, Type(f32, {})),
            "shard_map: P('i') has 1 entry for a value of 0 dimensions\n"
            "  rule: a spec has at most one entry a dimension\n"
            "  at: input 0\n"
            "  try: give the scalar a dimension with reshape, or use P()");
  EXPECT_EQ(raw({"k"}, Type(f32, {8})),
            "shard_map: P('k') names 'k', which is no axis of the mesh\n"
            "  rule: the axes are 'i'\n"
            "  at: input 0\n"
            "  try: check the spelling");
  EXPECT_EQ(raw({"i;i"}, Type(f32, {8, 8})),
            "shard_map: P('i', 'i') uses axis 'i' twice\n"
            "  rule: an axis cuts one dimension\n"
            "  at: input 0\n"
            "  try: leave one of them out");
}
