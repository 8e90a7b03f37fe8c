// The rules of operations that few modules have; table.cc names them.
#pragma once

#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo::rules {

// ragged.cc
Values ragged_dot(Reading& r);

// legacy.cc
Values einsum(Reading& r);
Values unary_einsum(Reading& r);
Values torch_index_select(Reading& r);
Values set_dimension_size(Reading& r);

// broadcasting.cc
/// Whether an operation is one of CHLO's that broadcast their operands, and what imports those.
bool broadcasts(std::string_view name);
Values broadcasting(Reading& r);

// elementary.cc
/// The greater or the lesser of two elements; complex ones go by their real parts, then by the others.
Value greatest_of(Value x, Value y);
Value least_of(Value x, Value y);

}  // namespace tessera::inline v0::stablehlo::rules
