// Shared by the tests that walk the registry: the names of all ops as test parameters, and an
// example as a program.
#pragma once

#include "ir/builder.h"
#include "ir/op.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walk {

inline std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const auto& op : tessera::Registry::get().all()) names.push_back(op->name);
  return names;
}

/// (inputs) -> the op's results.
inline tessera::ProgramPtr program_of(const tessera::Op& op, const tessera::OpExample& example) {
  tessera::Builder b(op.name);
  tessera::Values inputs;
  for (const tessera::Type& t : example.inputs) inputs.push_back(b.input(t));
  return b.finish(b.emit(op, inputs, example.attrs));
}

inline std::string test_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace walk
