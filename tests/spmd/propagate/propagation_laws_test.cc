// Laws of propagation on networks without conflicts: it is idempotent, its result may be requested,
// and names and the order of equal axes do not matter.
#include "spmd/propagation_check.h"
#include "transform/autodiff.h"

using namespace propagation;

namespace {

// Two layers, forward and backward: rows over x; over y, the first weights by columns and the
// second by rows.
struct Network {
  explicit Network(MeshShape shape = {{"x", "y"}, {2, 4}}, const std::string& x = "x",
                   const std::string& y = "y")
      : mesh(std::move(shape)) {
    const ProgramPtr forward =
        body_of({{8, 16}, {16, 32}, {32}, {32, 16}}, [](Builder&, const Values& in) {
          Value h = matmul(in[0], in[1]);
          h = ops::tanh(ops::add(h, ops::broadcast_in_dim(in[2], {8, 32}, {1})));
          Value out = ops::add(in[0], matmul(h, in[3]));
          return Values{ops::reduce_sum(ops::mul(out, out), {0, 1})};
        });
    program = vjp_program(*forward, std::vector<bool>(4, true));
    auto asked = [&](const std::string& where, int rank) {
      return RequestedPlacement{mesh.placement(spec(where), rank)};
    };
    options.inputs = {asked(x, 2), asked(";" + y, 2)};
  }
  AtomMesh mesh;
  ProgramPtr program;
  PropagationOptions options;
};

std::vector<std::string> texts(const AtomMesh& mesh, const Propagation& p, const Program& program) {
  std::vector<std::string> all;
  for (Var v = 0; v < program.types.size(); ++v) all.push_back(mesh.to_string(p.of(v)));
  return all;
}

TEST(PropagationLaws, ANetworkIsCutAsItsInputsAre) {
  Network n;
  const Propagation p = propagate(*n.program, n.mesh, n.options);
  std::vector<std::string> in;
  for (std::size_t i = 0; i < 4; ++i) in.push_back(n.mesh.to_string(p.input(i)));
  EXPECT_EQ(in, (std::vector<std::string>{"P('x')", "P(none, 'y')", "P('y')", "P('y')"}));
  // Gradients have the shardings of their parameters.
  const std::size_t first = n.program->outputs.size() - 4;
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(n.mesh.to_string(p.output(first + i)), in[i]) << to_string(*n.program);
}

TEST(PropagationLaws, AnotherPropagationFindsNothingMore) {
  Network n;
  const Propagation p = propagate(*n.program, n.mesh, n.options);
  n.options.from = &p;
  const Propagation q = propagate(*n.program, n.mesh, n.options);
  EXPECT_EQ(texts(n.mesh, p, *n.program), texts(n.mesh, q, *n.program));
  EXPECT_EQ(q.effort().changes, 0u);
}

TEST(PropagationLaws, WhatWasFoundMayBeAskedFor) {
  Network n;
  const Propagation p = propagate(*n.program, n.mesh, n.options);
  for (std::size_t i = 0; i < 4; ++i)
    n.options.inputs.resize(4), n.options.inputs[i] = RequestedPlacement{p.input(i)};
  for (std::size_t i = 0; i < n.program->outputs.size(); ++i)
    n.options.outputs.push_back(RequestedPlacement{p.output(i)});
  EXPECT_EQ(texts(n.mesh, p, *n.program),
            texts(n.mesh, propagate(*n.program, n.mesh, n.options), *n.program));
}

// Adds a constraint with the propagated sharding after each equation in turn.
TEST(PropagationLaws, AConstraintThatHoldsAnywayChangesNothing) {
  Network n;
  const Program& program = *n.program;
  const Propagation p = propagate(program, n.mesh, n.options);
  const std::vector<std::string> before = texts(n.mesh, p, program);
  const MeshRef mesh(DeviceMesh{n.mesh.mesh(), {}});
  for (std::size_t at = 0; at < program.equations.size(); ++at)
    for (bool open : {false, true}) {
      Builder b;
      std::vector<Value> now(program.types.size());
      std::vector<Var> defined(program.types.size());
      auto define = [&](Var v, Value value) { now[v] = value, defined[v] = value.var; };
      for (Var v : program.inputs) define(v, b.input(program.types[v]));
      for (std::size_t k = 0; k < program.equations.size(); ++k) {
        const Equation& eqn = program.equations[k];
        Values in;
        for (Var v : eqn.inputs) in.push_back(now[v]);
        const Values out = b.copy(eqn, in);
        for (std::size_t i = 0; i < out.size(); ++i) define(eqn.outputs[i], out[i]);
        if (k != at) continue;
        const Var v = eqn.outputs[0];
        Ints dims;
        for (int d = 0; open && d < program.types[v].shape.rank(); ++d) dims.push_back(d);
        now[v] = ops::sharding_constraint(out[0], mesh, n.mesh.spec(p.of(v)), dims);
      }
      Values out;
      for (Var v : program.outputs) out.push_back(now[v]);
      const ProgramPtr constrained = b.finish(out);
      const Propagation q = propagate(*constrained, n.mesh, n.options);
      for (Var v = 0; v < before.size(); ++v)
        ASSERT_EQ(n.mesh.to_string(q.of(defined[v])), before[v])
            << "variable " << v << ", constraint after equation " << at << "\n"
            << to_string(program);
    }
}

TEST(PropagationLaws, NamesOfAxesMeanNothing) {
  Network n, other({{"y", "x"}, {2, 4}}, "y", "x");
  const Propagation p = propagate(*n.program, n.mesh, n.options),
                    q = propagate(*other.program, other.mesh, other.options);
  for (Var v = 0; v < n.program->types.size(); ++v) EXPECT_EQ(p.of(v), q.of(v)) << v;
}

TEST(PropagationLaws, AxesOfOneSizeMayChangePlaces) {
  Network n({{"x", "y"}, {4, 4}}), other({{"x", "y"}, {4, 4}}, "y", "x");
  const Propagation p = propagate(*n.program, n.mesh, n.options),
                    q = propagate(*other.program, other.mesh, other.options);
  for (Var v = 0; v < n.program->types.size(); ++v) {
    Placement swapped = q.of(v);
    for (Atoms& dim : swapped.dims)
      for (Atom& a : dim) a = static_cast<Atom>(a < 2 ? a + 2 : a - 2);
    EXPECT_EQ(p.of(v), swapped) << v;
  }
}

TEST(PropagationLaws, TheOrderOfEquationsMeansNothing) {
  for (bool swapped : {false, true}) {
    Case c;
    Value a = c.input({8, 16}, "x"), d = c.input({16, 8}, ";y");
    Value one, two;
    if (swapped) {
      two = ops::sin(d);
      one = ops::exp(a);
    } else {
      one = ops::exp(a);
      two = ops::sin(d);
    }
    Value z = matmul(one, two);
    Propagation p = c.run({z});
    EXPECT_EQ(c.text(p, z), "P('x', 'y')");
    EXPECT_EQ(c.text(p, one), "P('x')");
    EXPECT_EQ(c.text(p, two), "P(none, 'y')");
  }
}

}  // namespace
