// Programs of products and kernels for the tests of what runs on panels, and ways to run them.
#pragma once

#include "codegen/tape/planner.h"
#include "ops/build.h"
#include "random/check_program.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace panels {

using namespace tessera;

inline HostArray numbers(const Type& type, int seed) {
  HostArray a(type.dtype, type.shape);
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const auto value = static_cast<double>((i * 7 + seed * 13 + i / 5) % 23 - 11) * 0.0625;
    dispatch(type.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (!is_complex_v<T>) a.data<T>()[i] = static_cast<T>(value);
    });
  }
  return a;
}

inline walk::Arrays inputs_of(const Program& p) {
  walk::Arrays inputs;
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    inputs.push_back(numbers(p.type(p.inputs[i]), static_cast<int>(i)));
  return inputs;
}

inline Value along_rows(Value row, const Shape& shape) {
  return ops::broadcast_in_dim(row, shape.to_vector(),
                               {static_cast<std::int64_t>(shape.rank()) - 1});
}
inline Value over_rows(Value column, const Shape& shape) {
  Ints dims;
  for (std::size_t d = 0; d + 1 < shape.rank(); ++d) dims.push_back(static_cast<std::int64_t>(d));
  return ops::broadcast_in_dim(column, shape.to_vector(), dims);
}
inline Value softmax(Value x) {
  const Shape shape = x.type().shape;
  const Ints last{static_cast<std::int64_t>(shape.rank()) - 1};
  const Value e = ops::exp(ops::sub(x, over_rows(ops::reduce_max(x, last), shape)));
  return ops::div(e, over_rows(ops::reduce_sum(e, last), shape));
}

inline std::string planned(const ProgramPtr& p) { return to_string(*tape::make_tape(*p, {})); }

inline std::shared_ptr<const runtime::TapeExecutable> executable(
    const ProgramPtr& p, runtime::CompileOptions options = {}) {
  return std::make_shared<const runtime::TapeExecutable>(p, std::move(options), tape::Apart{},
                                                         false);
}

/// The results without the pass.
inline walk::Arrays apart(const ProgramPtr& p, const walk::Arrays& inputs) {
  const check::Setting off("TESSERA_DISABLE_PASSES", "panels");
  EXPECT_EQ(planned(p).find("dot_general+"), std::string::npos);
  return check::compiled(*executable(p), inputs);
}

}  // namespace panels
