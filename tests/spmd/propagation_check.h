// Programs with the requests for their inputs and outputs, and the resulting placements as text.
#pragma once

#include "../specs.h"
#include "ir/op.h"
#include "ops/build.h"
#include "spmd/propagate/propagate.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace propagation {

using namespace tessera;
using namespace tessera::spmd;

inline Type f32_of(Shape shape) { return Type(DType::float32, std::move(shape)); }

/// A program under construction, which is then propagated over a mesh of x = 2 and y = 4.
class Case {
 public:
  explicit Case(MeshShape shape = {{"x", "y"}, {2, 4}}) : mesh(std::move(shape)) {}

  /// An input without a request.
  Value input(Shape shape) {
    options.inputs.emplace_back();
    return b.input(f32_of(std::move(shape)));
  }
  /// An input with the sharding of the spec (tests/specs.h), closed in all dimensions except the
  /// open ones.
  Value input(Shape shape, std::string_view where, std::vector<bool> open = {}) {
    options.inputs.emplace_back(wanted(shape.rank(), where, std::move(open)));
    return b.input(f32_of(std::move(shape)));
  }
  RequestedPlacement wanted(int rank, std::string_view where, std::vector<bool> open = {}) const {
    return {mesh.placement(spec(where), rank), std::move(open)};
  }
  MeshRef mesh_ref() const { return MeshRef(DeviceMesh{mesh.mesh(), {}}); }
  Value constrain(Value x, std::string_view where, const Ints& open = {}) {
    return ops::sharding_constraint(x, mesh_ref(), spec(where), open);
  }

  Propagation run(const Values& outputs) {
    program = b.finish(outputs);
    return propagate(*program, mesh, options);
  }
  std::string text(const Placement& p) const { return mesh.to_string(p); }
  std::string text(const Propagation& p, Value v, std::size_t scope = 0) const {
    return mesh.to_string(p.of(v.var, scope));
  }
  /// Operand `k` of equation `equation`.
  std::string read(const Propagation& p, std::size_t equation, std::size_t k,
                   std::size_t scope = 0) const {
    return mesh.to_string(p.operand(scope, equation, k));
  }

  AtomMesh mesh;
  Builder b;
  PropagationOptions options;
  ProgramPtr program;
};

/// x[m, k] times y[k, n].
inline Value matmul(Value x, Value y) { return ops::dot_general(x, y, {{1}, {0}, {}, {}}); }

/// The program of a function of values of these shapes.
template <class F>
ProgramPtr body_of(const std::vector<Shape>& inputs, F&& f) {
  Builder b("body");
  Values in;
  for (const Shape& s : inputs) in.push_back(b.input(f32_of(s)));
  return b.finish(f(b, in));
}

}  // namespace propagation
