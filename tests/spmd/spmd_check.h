// Per-device programs run on the reference, and the same functions mapped by vmap.
#pragma once

#include "../specs.h"
#include "ir/interpret.h"
#include "ir/op.h"
#include "ops/build.h"
#include "ops/op_check.h"
#include "spmd/region/reference.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace tessera::testing {

using Body = std::function<Values(Builder&, const Values&)>;

inline ProgramPtr program_of(const std::vector<Type>& inputs, const Body& f) {
  Builder b("f");
  Values in;
  for (const Type& t : inputs) in.push_back(b.input(t));
  return b.finish(f(b, in));
}

/// A float vector or array from row-major values.
inline HostArray floats(Shape shape, std::vector<float> values) {
  return host<float>(std::move(shape), values);
}

/// Row `k` of dimension 0, and the stack of rows.
inline HostArray row_of(const HostArray& x, std::int64_t k) {
  Shape shape(x.shape.begin() + 1, x.shape.end());
  HostArray r(x.dtype, shape);
  std::memcpy(r.bytes, x.bytes + k * r.size_bytes(), static_cast<std::size_t>(r.size_bytes()));
  return r;
}
inline HostArray stack_of(const std::vector<HostArray>& rows) {
  Shape shape = rows[0].shape;
  shape.insert(shape.begin(), static_cast<std::int64_t>(rows.size()));
  HostArray x(rows[0].dtype, shape);
  for (std::size_t k = 0; k < rows.size(); ++k)
    std::memcpy(x.bytes + static_cast<std::int64_t>(k) * rows[k].size_bytes(), rows[k].bytes,
                static_cast<std::size_t>(rows[k].size_bytes()));
  return x;
}

/// The program on every device of the mesh over rows of stacked inputs; stacked results.
inline std::vector<HostArray> on_devices(const Program& p, const MeshShape& mesh,
                                         const std::vector<HostArray>& stacked) {
  std::vector<std::vector<HostArray>> inputs(static_cast<std::size_t>(mesh.size()));
  for (std::size_t d = 0; d < inputs.size(); ++d)
    for (const HostArray& x : stacked) inputs[d].push_back(row_of(x, static_cast<std::int64_t>(d)));
  std::vector<std::vector<HostArray>> outputs = spmd::evaluate_spmd(p, mesh, inputs);
  std::vector<HostArray> result;
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    std::vector<HostArray> rows;
    for (auto& device : outputs) rows.push_back(device[o]);
    result.push_back(stack_of(rows));
  }
  return result;
}
inline std::vector<HostArray> on_axis(const Program& p, std::int64_t n,
                                      const std::vector<HostArray>& stacked) {
  return on_devices(p, {{"i"}, {n}}, stacked);
}

/// vmap over dimension 0 under the name; every result stacked.
inline ProgramPtr mapped(const Program& p, std::int64_t n, const std::string& axis) {
  return batch_program(p, std::vector<int>(p.inputs.size(), 0), n, axis,
                       std::vector<bool>(p.outputs.size(), true))
      .program;
}

inline void expect_same(const HostArray& got, const HostArray& want, const std::string& what) {
  ASSERT_EQ(got.shape, want.shape) << what;
  ASSERT_EQ(got.dtype, want.dtype) << what;
  for (std::int64_t i = 0; i < got.count(); ++i)
    ASSERT_EQ(got.number(i), want.number(i)) << what << ", element " << i;
}
inline void expect_same(const std::vector<HostArray>& got, const std::vector<HostArray>& want,
                        const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_same(got[i], want[i], what + ", result " + std::to_string(i));
}

template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace tessera::testing
