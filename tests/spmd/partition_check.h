// Programs over global arrays and their partitioned form: compared with the evaluator, and listed
// by their collectives.
#pragma once

#include "compiled.h"
#include "propagation_check.h"
#include "spmd/partition/partition.h"
#include "work_check.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace partitioning {

using namespace tessera;
using namespace tessera::spmd;
using tessera::testing::expect_same;

/// A program under construction, which is then partitioned.
class Case {
 public:
  explicit Case(MeshShape shape) : shape(std::move(shape)), mesh(this->shape, kAxes) {
    options.poison = true;
  }

  Value input(Type type, std::string_view where) {
    options.wanted.inputs.emplace_back(wanted(type.shape.rank(), where));
    return b.input(std::move(type));
  }
  Value input(Shape s, std::string_view where) {
    return input(Type(DType::float32, std::move(s)), where);
  }
  /// Constrains an intermediate value, whose sizes need not divide.
  Value constrain(Value x, std::string_view where) {
    return ops::sharding_constraint(x, ref(), spec(where), {});
  }
  RequestedPlacement wanted(int rank, std::string_view where) const {
    return {mesh.placement(spec(where), rank)};
  }
  /// Outputs have the shardings of the specs; "?" leaves the choice to the partitioner.
  Partitioned run(const Values& outputs, const std::vector<std::string>& where = {}) {
    for (std::size_t i = 0; i < where.size(); ++i)
      options.wanted.outputs.push_back(
          where[i] == "?" ? std::nullopt : std::optional(wanted(outputs[i].rank(), where[i])));
    program = b.finish(outputs);
    return run();
  }
  Partitioned run() {
    Partitioned p = partition(program, ref(), options);
    verify(*p.program, "partition");
    return p;
  }
  /// x after n iterations of `turn`.
  Value repeated(Value x, Value n, const std::function<Value(Value)>& turn) {
    Builder test("test"), body("turn");
    test.input(x.type());
    const Value left = test.input(n.type());
    const ProgramPtr goes_on =
        test.finish(Values{ops::gt(left, ops::scalar(test, DType::int32, 0))});
    const Value carry = body.input(x.type()), count = body.input(n.type());
    const Value next = turn(carry);
    const ProgramPtr once =
        body.finish(Values{next, ops::sub(count, ops::scalar(body, DType::int32, 1))});
    return ops::while_(goes_on, once, Values{}, Values{}, Values{x, n})[0];
  }
  MeshRef ref() const { return MeshRef(DeviceMesh{shape, {}}); }

  static constexpr AtomMesh::Parts kAxes = AtomMesh::Parts::axes;
  MeshShape shape;
  AtomMesh mesh;
  Builder b;
  PartitionOptions options;
  ProgramPtr program;
};

/// "all_reduce x 256": kind, axes and bytes of each, sorted, with the number of times.
inline std::vector<std::string> collectives(const Partitioned& p) {
  std::vector<std::string> all;
  for (const CollectiveCause& c : p.collectives) {
    std::string text = name_of(c.kind);
    for (const std::string& axis : c.axes) text += " " + axis;
    text += " " + std::to_string(c.bytes);
    if (c.times != 1) text += " * " + std::to_string(c.times);
    all.push_back(text);
  }
  std::sort(all.begin(), all.end());
  return all;
}
inline std::vector<std::string> list(std::vector<std::string> all) { return all; }

/// The body of the only region.
inline const Program& body_of(const Partitioned& p) {
  return *p.program->equations.at(0).attrs.program("body");
}

/// Small integers in any dtype.
inline HostArray whole_numbers(const Type& type, std::uint32_t seed, int spread = 5) {
  std::mt19937 rng(seed);
  HostArray a(type.dtype, type.shape);
  dispatch(type.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < a.count(); ++i) {
      int n = static_cast<int>(rng() % static_cast<std::uint32_t>(spread)) - spread / 2;
      if (is_unsigned_integer(type.dtype)) n = std::abs(n);
      if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
        a.data<T>()[i] = T(static_cast<float>(n));
      else
        a.data<T>()[i] = static_cast<T>(n);
    }
  });
  return a;
}
inline std::vector<HostArray> drawn_inputs(const Program& p, std::uint32_t seed = 3) {
  std::vector<HostArray> in;
  for (Var v : p.inputs) in.push_back(whole_numbers(p.types[v], seed++));
  return in;
}

inline void enough_devices() {
  if (runtime::device_count() < 8) runtime::set_device_count(8);
}

/// The partitioned program gives the results of the program, evaluated device by device and
/// compiled, and its devices receive the bytes that the plan predicts.
inline void expect_right(const Program& program, const Partitioned& p,
                         const std::vector<HostArray>& inputs) {
  const std::vector<HostArray> whole = evaluate(program, inputs);
  enough_devices();
  expect_same(evaluate(*p.program, inputs), whole, "evaluated");
  MeasuredWork work;
  expect_same(tessera::testing::run_compiled(p.program, inputs, &work), whole, "compiled");
  EXPECT_EQ(moved_otherwise(p.program, work), "");
}
inline void expect_right(const Case& c, const Partitioned& p) {
  expect_right(*c.program, p, drawn_inputs(*c.program));
}

}  // namespace partitioning
