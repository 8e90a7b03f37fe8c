// The executor agrees with the reference: every collective, dtype, grid order and control flow,
// with and without sharing.
#include "spmd/compiled.h"
#include "specs.h"
#include "transform/autodiff.h"

#include <cmath>

using namespace tessera;
using namespace tessera::testing;

namespace {

void expect_bits(const std::vector<HostArray>& got, const std::vector<HostArray>& want,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape, want[i].shape) << what;
    ASSERT_EQ(got[i].dtype, want[i].dtype) << what;
    for (std::int64_t k = 0; k < got[i].count(); ++k) {
      double g = got[i].number(k), w = want[i].number(k);
      ASSERT_TRUE(g == w || (std::isnan(g) && std::isnan(w)))
          << what << ", result " << i << ", element " << k << ": " << g << " != " << w;
    }
  }
}

using Mesh = MeshShape;

/// One shard_map of `f` over blocks that are sharded along dimension 0 over all axes of the mesh.
ProgramPtr map_rows(const Mesh& mesh, const std::vector<Type>& blocks, const Body& f,
                    bool typed = false) {
  const Spec rows(Spec::Dims{mesh.axes});
  const std::int64_t n = mesh.size();
  std::vector<Type> inner = blocks, whole = blocks;
  for (Type& t : inner)
    if (typed)
      for (const auto& a : mesh.axes) t.varying.insert(a);
  ProgramPtr body = program_of(inner, [&](Builder& b, const Values& in) {
    Values out = f(b, in);
    for (Value& v : out)
      if (v.rank() == 0) v = ops::reshape(v, Shape{1});
    return out;
  });
  for (Type& t : whole) t.shape[0] *= n;
  return program_of(whole, [&](Builder& b, const Values& in) {
    return ops::shard_map(b, body, in, first_devices(mesh), Specs(in.size(), rows),
                          Specs(body->outputs.size(), rows), typed);
  });
}

void check(const ProgramPtr& p, const std::string& what, int seed = 1) {
  std::vector<HostArray> inputs;
  for (Var v : p->inputs) inputs.push_back(integers(p->type(v), seed++));
  std::vector<HostArray> want = evaluate(*p, inputs);
  for (bool isolated : {false, true}) {
    bool before = runtime::isolated();
    runtime::set_isolated(isolated);
    std::vector<HostArray> got;
    try {
      got = run_compiled(p, inputs);
    } catch (...) {
      runtime::set_isolated(before);
      throw;
    }
    runtime::set_isolated(before);
    expect_bits(got, want, what + (isolated ? ", isolated" : ""));
  }
}

const Mesh kLine{{"i"}, {4}}, kGrid{{"x", "y"}, {2, 3}};

class CompiledPrograms : public ::testing::Test {
 protected:
  void SetUp() override { runtime::set_device_count(8); }
};

Body one(const std::function<Value(Value)>& f) {
  return [f](Builder&, const Values& in) { return Values{f(in[0])}; };
}

}  // namespace

TEST_F(CompiledPrograms, CollectivesOverALine) {
  const Strings i{"i"};
  for (DType d : {DType::float32, DType::int32, DType::float64, DType::uint8, DType::bfloat16,
                  DType::float16}) {
    std::string dt(name_of(d));
    Type block(d, {4, 2, 8});
    check(map_rows(kLine, {block}, one([&](Value x) { return ops::psum(x, i, 4); })), "psum " + dt);
    check(map_rows(kLine, {block}, one([&](Value x) {
                     return ops::psum(x, i, 4, {{0, 3}, {1, 2}});
                   })),
          "psum in groups " + dt);
    check(map_rows(kLine, {block}, one([&](Value x) {
                     return ops::psum(x, i, 4, {{3, 1, 2}, {0}});
                   })),
          "psum in unequal groups " + dt);
    check(map_rows(kLine, {block}, one([&](Value x) { return ops::pmax(x, i, 4); })), "pmax " + dt);
    check(map_rows(kLine, {block}, one([&](Value x) {
                     return ops::pmin(x, i, 4, {{0, 3}, {1, 2}});
                   })),
          "pmin in groups " + dt);
    for (bool tiled : {false, true})
      for (int axis : {0, 1, 2}) {
        std::string what = (tiled ? " tiled " : " ") + std::to_string(axis) + " " + dt;
        check(map_rows(kLine, {block},
                       one([&](Value x) { return ops::all_gather(x, i, 4, axis, tiled); })),
              "all_gather" + what);
        check(map_rows(kLine, {block}, one([&](Value x) {
                         return ops::all_gather(x, i, 4, axis, tiled, {{0, 3}, {2, 1}});
                       })),
              "all_gather in groups" + what);
        if (axis == 1) continue;
        check(
            map_rows(
                kLine, {block}, one([&](Value x) {
                  Value y = tiled || axis == 0 ? x : ops::slice(x, {0, 0, 0}, {4, 2, 4}, {1, 1, 1});
                  return ops::psum_scatter(y, i, 4, axis, tiled);
                })),
            "psum_scatter" + what);
        for (int concat : {0, 1, 2})
          check(map_rows(kLine, {block}, one([&](Value x) {
                           Value y = tiled || axis == 0
                                         ? x
                                         : ops::slice(x, {0, 0, 0}, {4, 2, 4}, {1, 1, 1});
                           return ops::all_to_all(y, i, 4, axis, concat, tiled);
                         })),
                "all_to_all to " + std::to_string(concat) + what);
      }
    check(map_rows(kLine, {block}, one([&](Value x) {
                     return ops::all_to_all(x, i, 4, 1, 0, true, {{0, 3}, {2, 1}});
                   })),
          "all_to_all in groups " + dt);
    check(map_rows(kLine, {block}, one([&](Value x) {
                     return ops::ppermute(x, i, 4, {{0, 1}, {1, 2}, {2, 0}, {3, 3}});
                   })),
          "ppermute " + dt);
    check(map_rows(kLine, {block}, one([&](Value x) {
                     return ops::ppermute(x, i, 4, {{0, 2}, {3, 1}});
                   })),
          "ppermute, partial " + dt);
    check(map_rows(kLine, {block}, one([&](Value x) { return ops::pbroadcast(x, i, 4, 2); })),
          "pbroadcast " + dt);
  }
  Type flags(DType::boolean, {3});
  check(map_rows(kLine, {flags}, one([&](Value x) { return ops::pmax(x, i, 4); })), "pmax bool");
  check(map_rows(kLine, {flags}, one([&](Value x) { return ops::all_gather(x, i, 4, 0, false); })),
        "all_gather bool");
}

TEST_F(CompiledPrograms, AxesOfAGrid) {
  Type block(f32, {6, 2});
  for (const auto& [axes, n] : std::vector<std::pair<Strings, std::int64_t>>{
           {{"x"}, 2}, {{"y"}, 3}, {{"x", "y"}, 6}, {{"y", "x"}, 6}}) {
    std::string what = " over " + axes[0] + (axes.size() > 1 ? "," + axes[1] : "");
    check(map_rows(kGrid, {block}, one([&](Value v) { return ops::psum(v, axes, n); })),
          "psum" + what);
    check(map_rows(kGrid, {block},
                   one([&](Value v) { return ops::all_gather(v, axes, n, 0, false); })),
          "all_gather" + what);
    check(map_rows(kGrid, {block},
                   one([&](Value v) { return ops::psum_scatter(v, axes, n, 0, true); })),
          "psum_scatter" + what);
    check(map_rows(kGrid, {block},
                   one([&](Value v) { return ops::all_to_all(v, axes, n, 0, 1, true); })),
          "all_to_all" + what);
    check(map_rows(kGrid, {block}, one([&](Value v) {
                     return ops::ppermute(v, axes, n, {{0, 1}, {1, 0}});
                   })),
          "ppermute" + what);
    check(
        map_rows(kGrid, {block}, one([&](Value v) { return ops::pbroadcast(v, axes, n, n - 1); })),
        "pbroadcast" + what);
    check(map_rows(kGrid, {block},
                   [&](Builder& b, const Values& in) {
                     return Values{ops::axis_index(b, axes, n), ops::reduce_sum(in[0], {0, 1})};
                   }),
          "axis_index" + what);
    check(
        map_rows(kGrid, {block}, one([&](Value v) { return ops::psum_invariant(v, axes); }), true),
        "psum_invariant" + what);
    check(map_rows(kGrid, {block},
                   one([&](Value v) { return ops::all_gather_invariant(v, axes, n, 1, true); }),
                   true),
          "all_gather_invariant" + what);
  }
}

// Sums of equal and unequal blocks, reused and combined with replicated values.
TEST_F(CompiledPrograms, SharedValues) {
  ProgramPtr body =
      program_of({Type(f32, {3}), Type(f32, {2, 3})}, [](Builder& b, const Values& in) {
        Value w = ops::mul(in[0], in[0]);  // once for all devices
        Value y = ops::mul(ops::broadcast_in_dim(w, {2, 3}, {1}), in[1]);
        Value s = ops::psum(ops::reduce_sum(y, {0}), {"i"}, 4);
        Value n = ops::psum(w, {"i"}, 4);  // the values are equal: 4 w
        Value m = ops::convert(ops::axis_index(b, {"i"}, 4), f32);
        return Values{ops::add(s, n), y, ops::reshape(m, Shape{1}),
                      ops::ppermute(w, {"i"}, 4, {{0, 1}, {1, 0}})};
      });
  check(program_of({Type(f32, {3}), Type(f32, {8, 3})},
                   [&](Builder& b, const Values& in) {
                     return ops::shard_map(b, body, in, first_devices({{"i"}, {4}}),
                                           specs({"", "i"}), specs({"", "i", "i", "i"}), false);
                   }),
        "shared values");
}

TEST_F(CompiledPrograms, ControlFlow) {
  Type block(f32, {1, 3});
  // A scan with a sum in every step.
  ProgramPtr step = program_of({block, Type(f32, {3})}, [](Builder&, const Values& in) {
    Value c = ops::add(in[0], ops::psum(ops::mul(in[0], in[0]), {"i"}, 4));
    return Values{ops::sub(c, ops::reshape(in[1], Shape{1, 3})), c};
  });
  check(map_rows(kLine, {block, Type(f32, {2, 3})},
                 [&](Builder& b, const Values& in) {
                   Values r = ops::scan(step, {}, Values{in[0]}, Values{in[1]}, 2, false, b);
                   return Values{r[0], ops::reshape(r[1], Shape{2, 3})};
                 }),
        "scan with psum");
  // A loop that devices leave at different iterations, and one whose predicate they share.
  auto loop = [](Value start, const std::function<Value(Value)>& measure,
                 const std::function<Value(Value)>& next) {
    ProgramPtr cond = program_of({start.type()}, [&](Builder& b, const Values& in) {
      return Values{ops::lt(measure(in[0]), ops::scalar(b, f32, 100))};
    });
    ProgramPtr body =
        program_of({start.type()}, [&](Builder&, const Values& in) { return Values{next(in[0])}; });
    return ops::while_(cond, body, {}, {}, Values{start})[0];
  };
  auto size = [](Value v) { return ops::reduce_sum(ops::mul(v, v), {0, 1}); };
  check(map_rows(kLine, {block}, one([&](Value x) {
                   return loop(x, size, [](Value v) {
                     return ops::add(ops::add(v, v), ops::full_like(v, 1));
                   });
                 })),
        "while, each for itself");
  check(map_rows(kLine, {block}, one([&](Value x) {
                   return loop(
                       x, [&](Value v) { return ops::psum(size(v), {"i"}, 4); },
                       [](Value v) {
                         return ops::add(v, ops::add(ops::full_like(v, 1), ops::pmax(v, {"i"}, 4)));
                       });
                 })),
        "while, together");
  // Branches that depend on the device, and on a shared index with a collective inside.
  auto branches = [&](bool sums) {
    ProgramPtr a = program_of(
        {block}, one([&](Value v) { return sums ? ops::psum(v, {"i"}, 4) : ops::add(v, v); }));
    ProgramPtr b = program_of({block}, one([&](Value v) { return ops::neg(v); }));
    return Programs{a, b};
  };
  check(map_rows(kLine, {block},
                 [&](Builder& b, const Values& in) {
                   Value own = ops::rem(ops::axis_index(b, {"i"}, 4), ops::scalar(b, i32, 2));
                   return ops::cond(own, branches(false), Values{in[0]});
                 }),
        "cond, each for itself");
  check(map_rows(kLine, {block},
                 [&](Builder& b, const Values& in) {
                   Value same = ops::rem(ops::psum(ops::axis_index(b, {"i"}, 4), {"i"}, 4),
                                         ops::scalar(b, i32, 2));
                   return ops::cond(same, branches(true), Values{in[0]});
                 }),
        "cond, together");
}

// Derivatives of typed and untyped maps agree with the reference.
TEST_F(CompiledPrograms, Derivatives) {
  for (bool typed : {false, true}) {
    AxisSet i{"i"};
    Type w(f32, {3}), x(f32, {2, 3});
    if (typed) x.varying = i;
    ProgramPtr body = program_of({w, x}, [&](Builder&, const Values& in) {
      Value y = ops::mul(ops::broadcast_in_dim(in[0], {2, 3}, {1}), in[1]);
      Value s = ops::reduce_sum(ops::mul(y, y), {0, 1});
      return Values{typed ? ops::psum_invariant(s, {"i"}) : ops::psum(s, {"i"}, 4), y};
    });
    ProgramPtr p =
        program_of({Type(f32, {3}), Type(f32, {8, 3})}, [&](Builder& b, const Values& in) {
          return ops::shard_map(b, body, in, first_devices({{"i"}, {4}}), specs({"", "i"}),
                                specs({"", "i"}), typed);
        });
    check(vjp_program(*p, {true, true}), typed ? "typed vjp" : "untyped vjp");
    check(jvp_program(*p, {true, true}).program, typed ? "typed jvp" : "untyped jvp");
  }
}

TEST_F(CompiledPrograms, NaNsInExtrema) {
  ProgramPtr p = map_rows(kLine, {Type(f32, {1})}, [](Builder&, const Values& in) {
    return Values{ops::pmax(in[0], {"i"}, 4), ops::pmin(in[0], {"i"}, 4)};
  });
  for (std::size_t at = 0; at < 4; ++at) {
    std::vector<float> v{1, 2, 3, 4};
    v[at] = std::nanf("");
    std::vector<HostArray> x{floats({4}, v)};
    expect_bits(run_compiled(p, x), evaluate(*p, x), "NaN at " + std::to_string(at));
  }
}
